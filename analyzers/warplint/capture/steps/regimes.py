"""Whether steps have come to take another time than those that were captured.

A step more or less, and a slow minute of a neighbour's, are no change: medians of at least a second and ten
steps are compared, and several in a row must be off to the same side.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from warplint.capture.steps.clock import StepTimes

BLOCK_NS = 1_000_000_000
BLOCK_STEPS = 10
BLOCKS = 3
"""So many blocks make a level, and must be off it."""
CHANGED = 1.2
"""Off by this factor. What a window tells of a step that is less than a fifth slower is much the same."""
ALIKE = 1.15
"""Blocks within this factor of each other have settled."""
PATIENT_BLOCKS = 10
"""After so many blocks off the level it has changed even though they have not settled."""
LEVEL_STEPS = 20
"""The level of a moment is the median of so many steps before it."""


@dataclass(frozen=True, slots=True)
class Change:
    """Medians of a step."""

    before_ns: float
    after_ns: float

    def __str__(self) -> str:
        return f"steps take {self.after_ns / 1e6:,.1f} ms where they took {self.before_ns / 1e6:,.1f} ms"


class RegimeWatch:
    """Looks at blocks of steps from the end of a window on."""

    def __init__(self, times: StepTimes, t_ns: int) -> None:
        self._times = times
        self._level_ns: float | None = None
        self._blocks: list[float] = []
        self._begin_ns, self._begin_count = t_ns, times.count

    def look(self, t_ns: int) -> Change | None:
        """To be called when a step has ended at ``t_ns``: the change that lasts, if there is one."""
        steps = self._times.count - self._begin_count
        if steps < BLOCK_STEPS or t_ns - self._begin_ns < BLOCK_NS:
            return None
        self._begin_ns, self._begin_count = t_ns, self._times.count
        self._blocks.append(median_step_ns(self._times.recent, steps))
        # A change that the budget refuses lasts: no more blocks are looked at than these.
        del self._blocks[:-PATIENT_BLOCKS]
        return self._change()

    def _change(self) -> Change | None:
        last = self._blocks[-BLOCKS:]
        if len(last) < BLOCKS:
            return None
        middle = statistics.median(last)
        if self._level_ns is None:
            # Learnt after the window and not before it, since torch's profiler may leave a program slower.
            self._level_ns = middle
        level = self._level_ns
        if min(last) < level * CHANGED and max(last) > level / CHANGED:
            self._blocks = last
            return None
        settled = max(last) <= ALIKE * min(last)
        if not settled and len(self._blocks) < PATIENT_BLOCKS:
            return None
        return Change(level, middle)


def median_step_ns(ends_ns: Sequence[int], steps: int) -> float:
    """The median of the last ``steps`` steps that ended at these times; 0 without a whole one."""
    first = max(0, len(ends_ns) - steps - 1)
    times = [late - early for early, late in pairwise(islice(ends_ns, first, None))]
    return statistics.median(times) if times else 0.0
