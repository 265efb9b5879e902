"""The step waits for the host, which launches, or runs Python, more slowly than the GPU works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.host_waits import CATCHING_UP, LineWaits
from warplint.advice.diagnosis.kernels import is_compiled
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure, Phase
from warplint.profile.model import IdleCause
from warplint.report.figures import count, milliseconds

REPLAY = "Replay the whole step (CUDA graphs), or give each kernel more to do (a larger batch)"
FEW_KERNELS = 10
"""A step: they are fused as far as they go. An optimizer with ``fused=True`` launches one or two."""


def _launching(steps: CapturedSteps) -> list[Charge]:
    """Idle time of lines that launch: the operators' own, and Python's between them."""
    return _charges(steps, steps.feeding.launching, CATCHING_UP)


def _python(steps: CapturedSteps) -> list[Charge]:
    places = [each for each in steps.feeding.python if steps.is_place(each.cost)]
    return _charges(steps, [*places, *_settled(steps)], (IdleCause.HOST,))


def _operators(steps: CapturedSteps) -> list[Charge]:
    return _charges(steps, _settled(steps), (IdleCause.LAUNCH,))


def _settled(steps: CapturedSteps) -> list[LineWaits]:
    """Slow lines of steps that had settled: before, they are those of the program's start."""
    return steps.feeding.slow if steps.is_priced else []


def _charges(steps: CapturedSteps, waits: Iterable[LineWaits], causes: Sequence[IdleCause]) -> list[Charge]:
    return [
        charge(us, each.cost.file, each.cost.line, steps.host_phase(each.cost))
        for each in waits
        if (us := sum(each.us.get(cause, 0.0) for cause in causes)) > 0.0
    ]


def _says_small(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    number, mean_us = _kernels(steps, charges)
    breaks = sum(each.count for each in steps.profile.graph_breaks)
    kernels = "kernel" if count(number) == "1" else "kernels"
    return Said(
        f"the host to launch: {count(number)} {kernels}{steps.each}, {count(mean_us)} µs long on average, "
        "end before the next is there, most of all at {place}",
        _remedy(steps, charges, number, bool(breaks)),
        (
            Figure("kernels", number),
            Figure("kernel_mean_us", mean_us),
            Figure("graph_breaks", breaks),
        ),
    )


def _kernels(steps: CapturedSteps, charges: Sequence[Charge]) -> tuple[float, float]:
    """How many a step, and their mean duration: those of the lines, or all where autograd launched.

    What autograd launches stands on the lines of the forward pass, mingled with what they launched.
    """
    places = {(each.file, each.line) for each in charges}
    autograd_us = sum(each.us for each in charges if each.phase is Phase.BACKWARD)
    ran = [
        kernel
        for cost in steps.lines
        if (cost.file, cost.line) in places
        for kernel in cost.kernels
        if not kernel.name.startswith("Mem")
    ]
    number, us = sum(kernel.count for kernel in ran), sum(kernel.us for kernel in ran)
    if not number or 2 * autograd_us > sum(each.us for each in charges):
        number, us = steps.totals.kernels, steps.totals.kernel_us
    return number / steps.steps, us / number if number else 0.0


def _remedy(steps: CapturedSteps, charges: Sequence[Charge], kernels: float, breaks: bool) -> str:
    if kernels < FEW_KERNELS:
        return REPLAY
    if _optimizes(charges):
        return "Update all parameters in few kernels: `fused=True` or `foreach=True` in the optimizer"
    if breaks:
        return "Mend the graph breaks of torch.compile (`warplint show` lists them), so that it fuses more"
    if any(is_compiled(group.example) for group in steps.profile.kernel_groups):
        return 'Replay them (CUDA graphs: `torch.compile(mode="reduce-overhead")`), or give each more to do'
    return "Fuse them (`torch.compile`), replay them (CUDA graphs), or give each more to do (a larger batch)"


def _says_python(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    places = {(each.file, each.line) for each in charges}
    launches = any(cost.launches for cost in steps.lines if (cost.file, cost.line) in places)
    return Said(
        f"Python at {{place}}, which launches {'next to nothing' if launches else 'nothing'} meanwhile",
        REPLAY
        if _optimizes(charges)
        else "Do it while the GPU works: after the next launches, on another thread, or less often",
    )


def _optimizes(charges: Sequence[Charge]) -> bool:
    """Whether most of it is the optimizer's, which can be done at no other time."""
    optimizing = sum(each.us for each in charges if each.phase is Phase.OPTIMIZER)
    return 2 * optimizing > sum(each.us for each in charges)


def _says_operators(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    places = {(each.file, each.line) for each in charges}
    launches = sum(cost.launches for cost in steps.lines if (cost.file, cost.line) in places)
    launch_us = sum(each.us for each in charges) / launches if launches else 0.0
    each_launch = f": {milliseconds(launch_us)} ms before each launch" if launches else ""
    return Said(
        f"operators at {{place}} that work on the host before they launch{each_launch}",
        "Give them tensors that are on the GPU, of shapes that stay alike from step to step",
        (Figure("host_us_per_launch", launch_us),),
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait if steps.is_priced else THRESHOLDS.wait_unpriced


def _wait_threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


CAUSES = (
    Cause("small kernels", Bottleneck.LAUNCH, True, _launching, _says_small, _threshold),
    Cause("Python between launches", Bottleneck.LAUNCH, True, _python, _says_python, _wait_threshold),
    Cause("operators on the host", Bottleneck.LAUNCH, True, _operators, _says_operators, _wait_threshold),
)
