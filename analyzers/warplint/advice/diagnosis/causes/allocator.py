"""The step waits for memory: cudaMalloc and cudaFree, which PyTorch's allocator calls when it has none."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.profile.felt_costs import FeltPart
from warplint.profile.model import IdleCause
from warplint.report.figures import count


def _find(steps: CapturedSteps) -> list[Charge]:
    return [
        charge(us, each.cost.file, each.cost.line, steps.host_phase(each.cost))
        for each in steps.waits
        if (us := each.us.get(IdleCause.ALLOC, 0.0)) > 0.0
    ]


def _say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    places = {(each.file, each.line) for each in charges}
    calls = sum(
        felt.count
        for felt in steps.profile.felt
        if felt.part == FeltPart.ALLOC.value and (felt.file, felt.line) in places
    )
    felt_us = sum(cost.felt_alloc_us for cost in steps.lines if (cost.file, cost.line) in places)
    return Said(
        f"memory from the driver: {count(calls / steps.steps)} calls of cudaMalloc, cudaFree or their like a "
        "step, most of all at {place}",
        "Do not call `empty_cache()` in the loop; keep shapes alike, pad them, or set "
        "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`",
        (
            Figure("allocations", calls / steps.steps),
            Figure("felt_alloc_us", felt_us / steps.steps),
        ),
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


CAUSES = (Cause("memory taken and given back", Bottleneck.ALLOCATOR, True, _find, _say, _threshold),)
