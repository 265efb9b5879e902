"""The step waits for memory: cudaMalloc and cudaFree, which PyTorch's allocator calls when it has none."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.profile.model import IdleCause
from warplint.profile.sections.felt_costs import FeltPart
from warplint.report.figures import count

EMPTYING = "empty_cache("


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
    called = f"{count(calls / steps.steps)} calls{steps.each}" if calls else "calls"
    return Said(
        f"memory from the driver: {called} of cudaMalloc, cudaFree or their like, most of all at {{place}}",
        "Do not call `empty_cache()` in the loop; keep shapes alike, pad them, or set "
        "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`",
        (
            Figure("allocations", calls / steps.steps),
            Figure("felt_alloc_us", felt_us / steps.steps),
        ),
        _emptying(steps, places),
    )


def _emptying(steps: CapturedSteps, places: set[tuple[str, int]]) -> tuple[str, int] | None:
    """The line that gives memory back, which is why others have to fetch it again."""
    held_up_us = {
        (cost.file, cost.line): cost.felt_alloc_us
        for cost in steps.lines
        if (cost.file, cost.line) in places and EMPTYING in steps.text(cost.file, cost.line)
    }
    return max(held_up_us, key=lambda place: (held_up_us[place], place), default=None)


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


CAUSES = (Cause("memory taken and given back", Bottleneck.ALLOCATOR, True, _find, _say, _threshold),)
