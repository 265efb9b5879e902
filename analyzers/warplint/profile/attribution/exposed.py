"""Copies that nothing hides: the time in which the GPU moved bytes and ran no kernel beside it."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.profile.attribution.busy import share_busy
from warplint.profile.kineto.calls import is_transfer
from warplint.profile.kineto.nesting import Intervals
from warplint.profile.kineto.trace import Trace, WorkKind
from warplint.profile.steps.gpu_steps import GpuSteps


def exposed_copies(trace: Trace, steps: GpuSteps, owners: list[int]) -> dict[int, int]:
    """Nanoseconds within ``steps`` by owner; where copies overlap, split equally among them.

    ``owners`` are of the trace's work, in its order. Copies within one device's memory are no transfers.
    """
    return dict(share_busy(_pieces(trace, owners), steps.begin_ns, steps.end_ns).by_owner)


def _pieces(trace: Trace, owners: list[int]) -> Iterator[tuple[int, int, int]]:
    work = trace.work
    kernel, copy = int(WorkKind.KERNEL), int(WorkKind.COPY)
    kernels = Intervals(
        (start, end)
        for kind, start, end in zip(work.kind, work.start, work.end, strict=True)
        if kind == kernel
    )
    copies = [index for index, kind in enumerate(work.kind) if kind == copy]
    names = set(map(work.name.__getitem__, copies))
    transfers = {name for name in names if is_transfer(trace.text(name))}
    for index in copies:
        if work.name[index] in transfers:
            owner = owners[index]
            for start, end in kernels.outside(work.start[index], work.end[index]):
                yield start, end, owner
