"""Kernels take longer beside other work of the process than alone at the same place of the step."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.kernels import is_collective
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.profile.names.signature import dtype, signature
from warplint.profile.sections.named_costs import KernelGroup


def _contended(steps: CapturedSteps) -> dict[tuple[str, str], KernelGroup]:
    """By signature and type. A collective waits for other ranks: that it takes longer tells nothing."""
    return {
        (group.signature, group.dtype): group
        for group in steps.profile.kernel_groups
        if group.contended_us and not is_collective(group.example)
    }


def _find(steps: CapturedSteps) -> list[Charge]:
    """A group's extra time, divided over its lines as its kernels' time is."""
    groups = _contended(steps)
    found = []
    for cost in steps.lines if groups else ():
        for kernel in cost.kernels:
            group = groups.get((signature(kernel.name), dtype(kernel.name)))
            if group is not None and group.contended_us:
                # Plain sums, of which what overlaps counts once.
                us = group.contended_us * kernel.us / group.us * cost.busy_us / cost.gpu_us
                found += [
                    charge(us * part, cost.file, cost.line, phase)
                    for phase, part in steps.gpu_phases(cost).items()
                ]
    return found


def _say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    most = max(_contended(steps).values(), key=lambda group: group.contended_us or 0.0)
    return Said(
        "kernels that take longer beside other work of the program on the GPU than alone, most of all those "
        "of {place}",
        "Run them one after the other, or give copies and collectives less of the GPU",
        (
            Figure("contended_us", sum(each.us for each in charges) / steps.steps),
            Figure("kernel", most.example),
        ),
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.gain


CAUSES = (Cause("work beside it", Bottleneck.CONTENTION, False, _find, _say, _threshold),)
