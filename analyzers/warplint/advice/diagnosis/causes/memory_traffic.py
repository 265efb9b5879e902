"""Most of the step is in kernels that read and write memory, and hardly compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.kernels import only_moves_memory
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.profile.model import LineCost
from warplint.profile.names.groups import SHORT_US
from warplint.report.figures import count


def _find(steps: CapturedSteps) -> list[Charge]:
    """Kernels that last: of a short one the launch is what counts."""
    return [
        charge(us * part, cost.file, cost.line, phase)
        for cost in steps.lines
        if (us := steps.gpu_us(cost, _lasting(cost))) > 0.0
        for phase, part in steps.gpu_phases(cost).items()
    ]


def _lasting(cost: LineCost) -> Callable[[str], bool]:
    """Whether a name is of those kernels of the line."""
    names = {kernel.name for kernel in cost.kernels if kernel.us >= SHORT_US * kernel.count}
    return lambda name: name in names and only_moves_memory(name)


def _say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    places = {(each.file, each.line) for each in charges}
    lines = [(cost, _lasting(cost)) for cost in steps.lines if (cost.file, cost.line) in places]
    ran = [kernel for cost, is_meant in lines for kernel in cost.kernels if is_meant(kernel.name)]
    kernels = sum(kernel.count for kernel in ran) / steps.steps
    return Said(
        f"{count(kernels)} kernels{steps.each} that only read and write memory, most of all from {{place}}",
        "Fuse them (`torch.compile`, fused optimizers and norms), or halve their bytes (bf16)",
        (
            Figure("moving_us", sum(each.us for each in charges) / steps.steps),
            Figure("moving_kernels", kernels),
            Figure("kernel", max(ran, key=lambda kernel: (kernel.us, kernel.name)).name),
        ),
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.moving


CAUSES = (Cause("memory traffic", Bottleneck.BANDWIDTH, False, _find, _say, _threshold),)
