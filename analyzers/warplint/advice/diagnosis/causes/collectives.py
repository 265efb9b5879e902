"""The step waits for other GPUs: collectives that run while no other kernel does."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.kernels import is_collective
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.report.figures import share

FILL = "Memset"
ALL = 0.995
"""As a share in percent it would read 100%."""


def collective_us(steps: CapturedSteps) -> float:
    """Plain sum of the durations of all collectives."""
    return sum(group.us for group in steps.profile.kernel_groups if is_collective(group.example))


def exposed_us(steps: CapturedSteps) -> float:
    """The least that collectives ran alone: what the GPU was busy beyond the sum of all other work."""
    totals = steps.totals
    fills = sum(kernel.us for cost in steps.lines for kernel in cost.kernels if kernel.name.startswith(FILL))
    others = totals.kernel_us - collective_us(steps) + totals.exposed_copy_us + fills
    return max(0.0, min(collective_us(steps), totals.gpu_busy_us - others))


def _find(steps: CapturedSteps) -> list[Charge]:
    """Each line's part of the exposed time is its part of all collectives; what no line launched has none."""
    whole, exposed = collective_us(steps), exposed_us(steps)
    if not exposed:
        return []
    return [
        charge(us / whole * exposed * part, cost.file, cost.line, phase)
        for cost in steps.lines
        if (us := sum(kernel.us for kernel in cost.kernels if is_collective(kernel.name))) > 0.0
        for phase, part in steps.gpu_phases(cost).items()
    ]


def _say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    of_all = len(charges) == len(_find(steps))
    return Said(
        f"other GPUs: {_alone(steps) if of_all else 'collectives that run alone'}, most of all at {{place}}",
        "Overlap them with the backward pass, communicate less often (`no_sync()`) or in bf16, and see "
        "whether another rank comes late",
        _figures(steps) if of_all else (),
    )


def _alone(steps: CapturedSteps) -> str:
    part = exposed_us(steps) / collective_us(steps)
    if part >= ALL:
        return "no kernel runs beside its collectives"
    return f"for {share(part)} of its collectives' time or more no kernel runs beside them"


def _figures(steps: CapturedSteps) -> tuple[Figure, ...]:
    """Of all collectives: how much of one phase's ran alone is not known, only how much of them is its."""
    count = sum(group.count for group in steps.profile.kernel_groups if is_collective(group.example))
    return (
        Figure("collectives", count / steps.steps),
        Figure("collective_us", collective_us(steps) / steps.steps),
        Figure("exposed_collective_us", exposed_us(steps) / steps.steps),
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


CAUSES = (Cause("exposed collectives", Bottleneck.COMMUNICATION, True, _find, _say, _threshold),)
