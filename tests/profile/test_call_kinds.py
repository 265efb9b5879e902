"""The names of host calls."""

from __future__ import annotations

import pytest

from warplint.profile.kineto.calls import CallKind, call_kind, is_transfer


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernel", CallKind.LAUNCH),
        ("cuLaunchKernelEx", CallKind.LAUNCH),
        ("cudaGraphLaunch", CallKind.LAUNCH),
        ("cudaGraphLaunch_v10000", CallKind.LAUNCH),
        ("cudaMemcpyAsync", CallKind.COPY),
        ("cudaMemcpyAsync_ptsz", CallKind.COPY),
        ("cudaMemcpy", CallKind.COPY | CallKind.WAIT),
        ("cudaMemsetAsync", CallKind.FILL),
        ("cudaStreamSynchronize", CallKind.WAIT),
        ("cudaMalloc", CallKind.ALLOC),
        ("cuMemAlloc_v2", CallKind.ALLOC),
        ("cudaEventQuery", CallKind.OTHER),
        ("cudaStreamGetCaptureInfo_v2", CallKind.OTHER),
        ("INVALID", CallKind.OTHER),
    ],
)
def test_kind_by_name(name: str, kind: CallKind) -> None:
    assert call_kind(name) == kind


def test_copies_within_a_device_are_no_transfers() -> None:
    assert is_transfer("Memcpy HtoD (Pageable -> Device)")
    assert is_transfer("Memcpy PtoP (Device -> Device)")
    assert not is_transfer("Memcpy DtoD (Device -> Device)")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hipLaunchKernel", CallKind.LAUNCH),
        ("hipExtModuleLaunchKernel", CallKind.LAUNCH),
        ("hipGraphLaunch", CallKind.LAUNCH),
        ("hipMemcpyAsync", CallKind.COPY),
        ("hipMemcpyWithStream", CallKind.COPY | CallKind.WAIT),
        ("hipMemcpy", CallKind.COPY | CallKind.WAIT),
        ("hipMemsetAsync", CallKind.FILL),
        ("hipStreamSynchronize", CallKind.WAIT),
        ("hipEventSynchronize", CallKind.WAIT),
        ("hipMalloc", CallKind.ALLOC),
        ("hipHostMalloc", CallKind.ALLOC),
        ("hipGetDevicePropertiesR0600", CallKind.OTHER),
        ("hipStreamIsCapturing", CallKind.OTHER),
    ],
)
def test_hip_calls_mean_what_cudas_mean(name: str, kind: CallKind) -> None:
    assert call_kind(name) == kind
