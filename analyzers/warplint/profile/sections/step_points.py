"""A run's step times as a profile holds them: the sections ``steps`` and ``change_points``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepPoint:
    """A point of the run's step times: one step, or several. ``captured``: a window disturbed them."""

    step: int
    """The last one."""
    steps: int
    end_us: float
    """Since the end of the first step whose end is known."""
    mean_us: float
    median_us: float
    shortest_us: float
    longest_us: float
    captured: bool


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """From ``step`` on steps take another time."""

    step: int
    at_us: float
    """When the step before it ended, since the end of the first step whose end is known."""
    unix_s: float | None
    """The same moment as Unix time; None where the capture does not tell."""
    before_us: float
    """The median step from the change before, or the beginning, up to here."""
    after_us: float
    """The median step from here to the next change, or the end."""
    window: int | None
    """The last window opened between here and the next change; None when there is none."""
    at_window: int | None
    """The window that was open or being written then, which may be the cause; None most often."""
