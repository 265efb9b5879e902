"""The step waits for the host, which launches, or runs Python, more slowly than the GPU works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge, dearest
from warplint.advice.diagnosis.host_waits import CATCHING_UP, LineWaits
from warplint.advice.diagnosis.kernels import is_compiled
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure, Phase
from warplint.profile.model import IdleCause, LineCost
from warplint.report.figures import count, milliseconds

REPLAY = "Replay the whole step (CUDA graphs), or give each kernel more to do (a larger batch)"
FEW_KERNELS = 10
"""A step: they are fused as far as they go. An optimizer with ``fused=True`` launches one or two."""


def _launching(steps: CapturedSteps) -> dict[Phase, list[Charge]]:
    """Idle time of lines that launch: the operators' own, and Python's between them."""
    found: dict[Phase, list[Charge]] = {}
    for each in _charges(steps, steps.feeding.launching, CATCHING_UP):
        found.setdefault(each.phase, []).append(each)
    return found


def _before_small(steps: CapturedSteps) -> list[Charge]:
    return [each for charges in _launching(steps).values() if _are_small(steps, charges) for each in charges]


def _before_others(steps: CapturedSteps) -> list[Charge]:
    return [
        each for charges in _launching(steps).values() if not _are_small(steps, charges) for each in charges
    ]


def _are_small(steps: CapturedSteps, charges: Sequence[Charge]) -> bool:
    """By the mean of all kernels on the lines, since those of one phase are not told from another's there."""
    number, us = _sums(_lines(steps, charges))
    return 0.0 < us <= THRESHOLDS.small_us * number


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
    own = _own_kernels(steps, charges)
    kernels = "kernels"
    if own:
        number, mean_us = own
        noun = "kernel" if count(number) == "1" else "kernels"
        kernels = f"{count(number)} {noun}{steps.each}, {count(mean_us)} µs long on average,"
    breaks = sum(each.count for each in steps.profile.graph_breaks)
    return Said(
        f"the host to launch: {kernels} end before the next is there, most of all at {{place}}",
        _remedy(steps, charges, own is not None and own[0] < FEW_KERNELS, bool(breaks)),
        (*_figures(own), Figure("graph_breaks", breaks)),
    )


def _says_late(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    return Said(
        "the host to launch: the GPU is out of work before the next kernel is there, most of all at {place}",
        "See what the host does there before it launches, or replay the launches (CUDA graphs)",
        _figures(_own_kernels(steps, charges)),
    )


def _figures(own: tuple[float, float] | None) -> tuple[Figure, ...]:
    return (Figure("kernels", own[0]), Figure("kernel_mean_us", own[1])) if own else ()


def _own_kernels(steps: CapturedSteps, charges: Sequence[Charge]) -> tuple[float, float] | None:
    """How many a step, and their mean duration. None where kernels of other phases are among them."""
    lines = _lines(steps, charges)
    phases = {each.phase for each in charges}
    if any(not phases.issuperset(steps.gpu_phases(cost)) for cost in lines):
        return None
    number, us = _sums(lines)
    return (number / steps.steps, us / number) if number else None


def _lines(steps: CapturedSteps, charges: Sequence[Charge]) -> list[LineCost]:
    """Where the kernels stand: what autograd launches on the lines of the forward pass, among what these
    launched."""
    places = {(each.file, each.line) for each in charges}
    autograd_us = sum(each.us for each in charges if each.phase is Phase.BACKWARD)
    by_autograd = 2 * autograd_us > sum(each.us for each in charges)
    return [
        cost
        for cost in steps.lines
        if cost.kernels and ((cost.file, cost.line) in places or (by_autograd and cost.gpu_backward_us > 0.0))
    ]


def _sums(lines: Iterable[LineCost]) -> tuple[int, float]:
    """Number and duration of the kernels."""
    ran = [kernel for cost in lines for kernel in cost.kernels if not kernel.name.startswith("Mem")]
    return sum(kernel.count for kernel in ran), sum(kernel.us for kernel in ran)


def _remedy(steps: CapturedSteps, charges: Sequence[Charge], are_few: bool, breaks: bool) -> str:
    if are_few:
        return REPLAY
    if _optimizes(charges):
        return "Update all parameters in few kernels: `fused=True` or `foreach=True` in the optimizer"
    if breaks:
        return "Mend the graph breaks of torch.compile (`warplint show` lists them), so that it fuses more"
    if any(is_compiled(group.example) for group in steps.profile.kernel_groups):
        return 'Replay them (CUDA graphs: `torch.compile(mode="reduce-overhead")`), or give each more to do'
    return "Fuse them (`torch.compile`), replay them (CUDA graphs), or give each more to do (a larger batch)"


def _says_python(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    named = dearest(charges)
    launches = any(cost.launches for cost in steps.lines if (cost.file, cost.line) == named)
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
    Cause("small kernels", Bottleneck.LAUNCH, True, _before_small, _says_small, _threshold),
    Cause("late launches", Bottleneck.LAUNCH, True, _before_others, _says_late, _threshold),
    Cause("Python between launches", Bottleneck.LAUNCH, True, _python, _says_python, _wait_threshold),
    Cause("operators on the host", Bottleneck.LAUNCH, True, _operators, _says_operators, _wait_threshold),
)
