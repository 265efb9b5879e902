"""What the names of host calls in a Kineto trace mean: one table for launches, copies, waits and allocations.

Names are CUPTI's (``cuda_runtime`` and ``cuda_driver`` records). CUPTI appends versions and stream suffixes
(``cudaGraphLaunch_v10000``, ``cudaMemcpyAsync_ptsz``); ``call_kind`` looks past them. Traces of AMD's GPUs
have HIP's names in the same records.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence


class CallKind(enum.Flag):
    """What a host call does for the GPU; a blocking copy both copies and waits."""

    OTHER = 0
    LAUNCH = enum.auto()
    """Starts a kernel, or a graph of them."""
    COPY = enum.auto()
    FILL = enum.auto()
    WAIT = enum.auto()
    """Returns only when the GPU has reached a point."""
    ALLOC = enum.auto()
    """Allocates or frees device or pinned host memory; may itself wait."""


_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)+$")

# cudaMemcpyAsync from pageable memory may block too, but whether it did shows only in how long it took: torch
# follows it with a cudaStreamSynchronize of its own, which counts as the wait.
_KINDS: dict[str, CallKind] = {
    **dict.fromkeys(
        (
            "cudaLaunchKernel",
            "cudaLaunchKernelExC",
            "cudaLaunchCooperativeKernel",
            "cudaGraphLaunch",
            "cuLaunchKernel",
            "cuLaunchKernelEx",
            "cuLaunchCooperativeKernel",
            "cuGraphLaunch",
        ),
        CallKind.LAUNCH,
    ),
    **dict.fromkeys(
        (
            "cudaMemcpyAsync",
            "cudaMemcpy2DAsync",
            "cudaMemcpy3DAsync",
            "cudaMemcpyPeerAsync",
            "cudaMemcpy3DPeerAsync",
            "cudaMemcpyToSymbolAsync",
            "cudaMemcpyFromSymbolAsync",
            "cuMemcpyAsync",
            "cuMemcpyHtoDAsync",
            "cuMemcpyDtoHAsync",
            "cuMemcpyDtoDAsync",
        ),
        CallKind.COPY,
    ),
    **dict.fromkeys(
        (
            "cudaMemcpy",
            "cudaMemcpy2D",
            "cudaMemcpy3D",
            "cudaMemcpyPeer",
            "cudaMemcpyToSymbol",
            "cudaMemcpyFromSymbol",
            "cuMemcpyHtoD",
            "cuMemcpyDtoH",
        ),
        CallKind.COPY | CallKind.WAIT,
    ),
    **dict.fromkeys(
        ("cudaMemset", "cudaMemsetAsync", "cudaMemset2DAsync", "cuMemsetD8Async", "cuMemsetD32Async"),
        CallKind.FILL,
    ),
    **dict.fromkeys(
        (
            "cudaDeviceSynchronize",
            "cudaStreamSynchronize",
            "cudaEventSynchronize",
            "cuCtxSynchronize",
            "cuStreamSynchronize",
            "cuEventSynchronize",
        ),
        CallKind.WAIT,
    ),
    **dict.fromkeys(
        (
            "cudaMalloc",
            "cudaMallocAsync",
            "cudaMallocHost",
            "cudaHostAlloc",
            "cudaHostRegister",
            "cudaFree",
            "cudaFreeAsync",
            "cudaFreeHost",
            "cuMemCreate",
            "cuMemMap",
            "cuMemUnmap",
            "cuMemRelease",
            "cuMemAlloc",
            "cuMemFree",
        ),
        CallKind.ALLOC,
    ),
}

STARTS_GPU_WORK = CallKind.LAUNCH | CallKind.COPY | CallKind.FILL


# HIP names its calls as CUDA does, but for these. hipMemcpyWithStream returns when the copy is done.
_HIP_KINDS: dict[str, CallKind] = {
    **dict.fromkeys(
        (
            "hipExtLaunchKernel",
            "hipModuleLaunchKernel",
            "hipExtModuleLaunchKernel",
            "hipHccModuleLaunchKernel",
        ),
        CallKind.LAUNCH,
    ),
    "hipMemcpyWithStream": CallKind.COPY | CallKind.WAIT,
    **dict.fromkeys(("hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync", "hipMemcpyDtoDAsync"), CallKind.COPY),
    **dict.fromkeys(("hipMemcpyHtoD", "hipMemcpyDtoH"), CallKind.COPY | CallKind.WAIT),
    **dict.fromkeys(("hipMemsetD8Async", "hipMemsetD32Async"), CallKind.FILL),
    **dict.fromkeys(("hipHostMalloc", "hipHostFree", "hipExtMallocWithFlags"), CallKind.ALLOC),
}


def call_kind(name: str) -> CallKind:
    """The kind of a runtime or driver call by its name; OTHER for calls that cost the GPU nothing."""
    bare = _SUFFIX.sub("", name)
    if bare.startswith("hip"):
        return _HIP_KINDS.get(bare) or _KINDS.get(f"cuda{bare[3:]}", CallKind.OTHER)
    return _KINDS.get(bare, CallKind.OTHER)


def numbers_of_kind(names: Sequence[str], kind: CallKind) -> frozenset[int]:
    """The positions in a table of names of those that have any of ``kind``: testing each record is slow."""
    return frozenset(number for number, name in enumerate(names) if call_kind(name) & kind)


# Record names that torch and this project write into a trace.
BACKWARD_NODE = "autograd::engine::evaluate_function: "
DATA_LOADING = "enumerate(DataLoader)#"
OPTIMIZER = ("Optimizer.step#", "Optimizer.zero_grad#")
MARKER = "warplint.sync#"

# "Memcpy HtoD (Pageable -> Device)": copies within one device's memory are GPU work, not transfers.
_WITHIN_DEVICE = "Memcpy DtoD"


def is_transfer(name: str) -> bool:
    """Whether a ``gpu_memcpy`` record moves bytes between host and device, or between devices."""
    return not name.startswith(_WITHIN_DEVICE)
