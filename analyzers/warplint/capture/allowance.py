"""How much of a run its windows may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowCost:
    """What a window cost the program."""

    held_ns: int
    """Opening and closing it, during which the program waited."""
    inside_ns: int
    """From its opening to its last step."""
    steps: int
    before_ns: float
    """The median step before it; 0 where there was none."""

    @property
    def extra_ns(self) -> float:
        """How much longer its steps took."""
        return max(0.0, self.inside_ns - self.steps * self.before_ns)

    def expected_ns(self, step_ns: float) -> float:
        """What the like of it will cost when a step takes so long: steps are slowed by a factor."""
        return self.held_ns + self.extra_ns * (step_ns / self.before_ns if self.before_ns else 1.0)


@dataclass(frozen=True, slots=True)
class Opening:
    """How a window began."""

    began_ns: int
    opened_ns: int
    step: int
    """The last that had ended."""
    before_ns: float
    """The median step before; 0 where there was none."""

    def cost(self, step: int, last_step_ns: int, closed_ns: int) -> WindowCost:
        """Of a window whose last step, ``step``, ended at ``last_step_ns``."""
        return WindowCost(
            held_ns=self.opened_ns - self.began_ns + closed_ns - last_step_ns,
            inside_ns=last_step_ns - self.opened_ns,
            steps=step - self.step,
            before_ns=self.before_ns,
        )


class Allowance:
    """Counts what windows cost, and whether another may be opened."""

    def __init__(self, share: float, began_ns: int) -> None:
        self._share = share
        self._began_ns = began_ns
        self._spent_ns = 0.0
        self._last: WindowCost | None = None

    def spend(self, cost: WindowCost) -> None:
        self._last = cost
        self._spent_ns += cost.held_ns + cost.extra_ns

    def allows(self, step_ns: float, t_ns: int) -> bool:
        """Whether a window like the last may be opened at ``t_ns``, when a step takes ``step_ns``."""
        if self._last is None:
            return True
        planned_ns = self._spent_ns + self._last.expected_ns(step_ns)
        return planned_ns <= self._share * (t_ns - self._began_ns)
