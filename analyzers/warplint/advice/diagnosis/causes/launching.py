"""The step waits for the host, which launches, or runs Python, more slowly than the GPU works."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure, Phase
from warplint.profile.model import IdleCause
from warplint.report.figures import count

FEEDS = (IdleCause.LAUNCH, IdleCause.HOST)
"""Idle time of a line that launches: the operator's own time, and Python's between operators."""


def _launching(steps: CapturedSteps) -> list[Charge]:
    return [
        charge(us, each.cost.file, each.cost.line, steps.host_phase(each.cost))
        for each in steps.waits
        if (us := sum(each.us.get(cause, 0.0) for cause in FEEDS)) > 0.0
        if each.cost.launches or each.us.get(IdleCause.LAUNCH, 0.0) > 0.0
    ]


def _python(steps: CapturedSteps) -> list[Charge]:
    return [
        charge(us, each.cost.file, each.cost.line, steps.host_phase(each.cost))
        for each in steps.waits
        if (us := each.us.get(IdleCause.HOST, 0.0)) > 0.0
        if not each.cost.launches and not each.us.get(IdleCause.LAUNCH, 0.0) > 0.0
    ]


def _says_small(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    number, mean_us = _kernels(steps, charges)
    breaks = sum(each.count for each in steps.profile.graph_breaks)
    return Said(
        f"the host to launch: {count(number)} kernels a step of {count(mean_us)} µs on average end sooner "
        "than the next is there, most of all at {place}",
        _remedy(charges, bool(breaks)),
        (
            Figure("kernels", number),
            Figure("kernel_mean_us", mean_us),
            Figure("graph_breaks", breaks),
        ),
    )


def _kernels(steps: CapturedSteps, charges: Sequence[Charge]) -> tuple[float, float]:
    """How many a step, and their mean duration: those of the lines, or all where autograd launched."""
    places = {(each.file, each.line) for each in charges}
    ran = [
        kernel
        for cost in steps.lines
        if (cost.file, cost.line) in places
        for kernel in cost.kernels
        if not kernel.name.startswith("Mem")
    ]
    number, us = sum(kernel.count for kernel in ran), sum(kernel.us for kernel in ran)
    if not number:
        number, us = steps.totals.kernels, steps.totals.kernel_us
    return number / steps.steps, us / number if number else 0.0


def _remedy(charges: Sequence[Charge], breaks: bool) -> str:
    optimizing = sum(each.us for each in charges if each.phase is Phase.OPTIMIZER)
    if 2 * optimizing > sum(each.us for each in charges):
        return "Update all parameters in few kernels: `fused=True` or `foreach=True` in the optimizer"
    if breaks:
        return "Mend the graph breaks of torch.compile (`warplint show` lists them), so that it fuses more"
    return "Fuse them (`torch.compile`), replay them (CUDA graphs), or give each more to do (a larger batch)"


def _says_python(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    return Said(
        "Python at {place}, which launches nothing meanwhile",
        "Do it while the GPU works: after the next launches, on another thread, or less often",
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait if steps.is_priced else THRESHOLDS.wait_unpriced


def _python_threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


CAUSES = (
    Cause("small kernels", Bottleneck.LAUNCH, True, _launching, _says_small, _threshold),
    Cause("Python between launches", Bottleneck.LAUNCH, True, _python, _says_python, _python_threshold),
)
