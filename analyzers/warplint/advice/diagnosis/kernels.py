"""What kernels do, by the names of libraries and of PyTorch's own."""

from __future__ import annotations

import functools
import re

from warplint.profile.signature import dtype

_PRODUCT = re.compile(
    r"gemm|sgemm|dgemm|cutlass|xmma|convolve|scudnn|dgrad|wgrad|fprop|winograd|conv2d|conv3d|matmul", re.I
)
"""Products of matrices, and convolutions."""
_TENSOR_CORES = re.compile(r"tf32|tensorop|hmma|imma|gmma|s884|1688|16816|16832", re.I)
_SCALAR_UNITS = re.compile(
    r"simt|ffma|sgemm|scudnn|convolve_sgemm|(?:dgrad|wgrad\w*)_\w*engine|winograd", re.I
)
"""Kernels that are written for the units that multiply one number at a time."""
_COLLECTIVE = re.compile(r"^nccl|^rccl|^mscclKernel|ncclDevKernel|ncclKernel")
_MOVING = re.compile(
    r"elementwise|multi_tensor_apply|\bfused_dropout|CatArrayBatchedCopy|reduce_kernel|RowwiseMoments|"
    r"layer_?norm|batch_?norm|bn_(?:fw|bw)|group_?norm|[Ss]oft_?[Mm]ax|nchwToNhwc|nhwcToNchw|upsample|"
    r"index_(?:select|put|elementwise)|gather|scatter|dropout",
)
"""Kernels that read and write each number once or twice, and hardly compute."""
_FUSED = re.compile(r"^triton_")


@functools.lru_cache(maxsize=4096)
def is_fp32_product(name: str) -> bool:
    """Whether a kernel multiplies matrices of fp32, or convolves them, without Tensor Cores."""
    return bool(
        _PRODUCT.search(name)
        and _SCALAR_UNITS.search(name)
        and not _TENSOR_CORES.search(name)
        and dtype(name) == "fp32"
    )


@functools.lru_cache(maxsize=4096)
def is_collective(name: str) -> bool:
    return bool(_COLLECTIVE.search(name))


@functools.lru_cache(maxsize=4096)
def only_moves_memory(name: str) -> bool:
    """Of those that are not the result of fusing already."""
    return bool(_MOVING.search(name)) and not _FUSED.search(name) and not _PRODUCT.search(name)


def is_copy(name: str) -> bool:
    """Between host and device, or between devices."""
    return name.startswith("Memcpy ") and not name.startswith("Memcpy DtoD")
