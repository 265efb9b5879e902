"""The captured steps as causes look at them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from warplint.advice.diagnosis.devices import DeviceLimits, limits_of
from warplint.advice.diagnosis.feeding import Feeding, fed_us, feeding
from warplint.advice.diagnosis.host_waits import LineWaits, host_waits
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Phase
from warplint.profile.kineto.lines import STEP
from warplint.profile.model import IdleCause, LineCost, Profile
from warplint.source.text import LINE_END

_BACKWARD = re.compile(r"\.backward\(|\bautograd\.grad\(|\bbackward\(loss")
_OPTIMIZER = re.compile(r"\bzero_grad\(|\bopt(?:im(?:izer)?)?s?\w*\.step\(|\b[Oo]ptimizer\.")
_NAMED_BACKWARD = re.compile(r"\bbackward\b|\bautograd::", re.I)
"""In the names of annotations and operators, which stand for lines in imported traces."""
STEP_NAME = STEP.rstrip("#")
"""Where an imported trace knows no more of the host than the step it is in."""


class CapturedSteps:
    """Figures of a profile that several causes need. Sums over the captured steps, microseconds."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.totals = profile.totals
        self.lines = profile.lines

    @property
    def program_us(self) -> float:
        return self.totals.program_us

    @property
    def steps(self) -> int:
        """1 where no whole step was captured: figures are then of the window."""
        return self.totals.steps or 1

    @property
    def each(self) -> str:
        """What follows an amount of one step, in words; nothing where no whole step was captured."""
        return " a step" if self.totals.steps else ""

    def share(self, us: float) -> float:
        return us / self.program_us if self.program_us else 0.0

    @property
    def limits(self) -> DeviceLimits | None:
        return limits_of(self.totals.device)

    @property
    def utilization(self) -> float:
        """GPU utilisation as the device's counter gave it; where none was read, what it is meant to count."""
        readings = self.profile.device_readings
        return readings[0].kernel_active_share if readings else self.share(self.totals.gpu_busy_us)

    @property
    def is_priced(self) -> bool:
        """Whether what recording cost the steps is known, and taken off."""
        return any(each.step_before_ms and each.step_inside_ms for each in self.profile.windows)

    @cached_property
    def waits(self) -> list[LineWaits]:
        return host_waits(self.lines, self.overstated_us)

    @property
    def overstated_us(self) -> float:
        """By how much steps were longer in their windows than before, beyond what counts as the capture's."""
        longer_ms = sum(
            each.steps * max(0.0, inside - before)
            for each in self.profile.windows
            if (before := each.step_before_ms)
            and (inside := each.step_inside_ms)
            # Else they are other steps.
            and inside <= THRESHOLDS.slowed * before
        )
        return max(0.0, longer_ms * 1e3 - self.totals.capture_us)

    @cached_property
    def feeding(self) -> Feeding:
        most_us = THRESHOLDS.launch_us if self.is_priced else THRESHOLDS.launch_unpriced_us
        return feeding(self.waits, self.totals.launches, self._launches_backward, most_us)

    def _launches_backward(self, cost: LineCost) -> bool:
        return cost.idle_us.get(IdleCause.LAUNCH, 0.0) > 0.0 and self.host_phase(cost) is Phase.BACKWARD

    @property
    def start_up_us(self) -> float:
        """Waits for launches that are no launching, where it is not known that steps had settled."""
        return 0.0 if self.is_priced else self.feeding.slow_us

    @property
    def nowhere_us(self) -> float:
        """Idle time with the host outside of all operators, in no place that the capture names."""
        return sum(fed_us(each) for each in self.feeding.python if not self.is_place(each.cost))

    def idle_us(self, cause: IdleCause) -> float:
        """By the profile's own account."""
        return sum(cost.idle_us.get(cause, 0.0) for cost in self.lines)

    def text(self, file: str, line: int) -> str:
        """Of a line, as it ran, with single spaces; empty where it is not known."""
        source = self.profile.sources.get(file)
        lines = LINE_END.split(source.text) if source else []
        return " ".join(lines[line - 1].split()) if 0 < line <= len(lines) else ""

    def host_phase(self, cost: LineCost) -> Phase:
        """The phase in which the host is on that line."""
        text = self.text(cost.file, cost.line) or ("" if cost.line else cost.file)
        if cost.gpu_optimizer_us > cost.gpu_forward_us + cost.gpu_backward_us or _OPTIMIZER.search(text):
            return Phase.OPTIMIZER
        if self._is_backward(cost, text):
            return Phase.BACKWARD
        return Phase.FORWARD

    def _is_backward(self, cost: LineCost, text: str) -> bool:
        if not cost.line:
            return bool(_NAMED_BACKWARD.search(text))
        # Launching on a line that launches nothing is that of autograd, which is charged to other lines.
        idles = cost.idle_us.get(IdleCause.LAUNCH, 0.0) > 0 and cost.gpu_us <= 0
        return bool(_BACKWARD.search(text)) or (idles and not text and self._autograd_launches)

    @cached_property
    def _autograd_launches(self) -> bool:
        """Inference has no backward pass, whatever its lines wait for."""
        return any(cost.gpu_backward_us > 0 for cost in self.lines)

    def is_place(self, cost: LineCost) -> bool:
        """Whether it names something of the program's own that could be changed."""
        return bool(cost.line) or cost.file != STEP_NAME

    def gpu_phases(self, cost: LineCost) -> dict[Phase, float]:
        """How a line's GPU time divides over the phases: shares that sum to 1."""
        parts = {
            Phase.FORWARD: cost.gpu_forward_us,
            Phase.BACKWARD: cost.gpu_backward_us,
            Phase.OPTIMIZER: cost.gpu_optimizer_us,
        }
        whole = sum(parts.values())
        if not whole:
            return {self.host_phase(cost): 1.0}
        return {phase: us / whole for phase, us in parts.items() if us}

    def gpu_us(self, cost: LineCost, is_meant: Callable[[str], bool]) -> float:
        """A line's part of the GPU's busy time in the kernels that are meant, by their names.

        Overlapping work counts once, and so does what ran beyond the last boundary of a step: plain sums of
        durations are scaled to ``busy_us``.
        """
        return cost.busy_part_us(sum(kernel.us for kernel in cost.kernels if is_meant(kernel.name)))

    @cached_property
    def phase_busy_us(self) -> dict[Phase, float]:
        """How long the GPU worked for each phase."""
        spent = dict.fromkeys(Phase, 0.0)
        for cost in self.lines:
            for phase, part in self.gpu_phases(cost).items():
                spent[phase] += part * cost.busy_us
        return spent

    @cached_property
    def phase_us(self) -> dict[Phase, float]:
        """How long each phase kept the GPU: its work, and the idle time in it."""
        spent = dict(self.phase_busy_us)
        for cost in self.lines:
            for cause, us in cost.idle_us.items():
                if cause is not IdleCause.CAPTURE:
                    spent[Phase.DATA if cause is IdleCause.DATA else self.host_phase(cost)] += us
        return spent
