"""Which steps at the start of a window do not count.

The first is not whole: the window opened within it. While the program waited for that, loaders that prefetch
filled their queues, so that some steps after it wait for less data than all others do, and the program gets
ahead of its pace. One step alone does not tell: with two workers batches often come in pairs, and every other
step is short. So what is looked at is how far a program gets ahead, against how far it did before.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from warplint.capture.settings import LEAD_IN_STEPS
from warplint.capture.steps.regimes import LEVEL_STEPS

MOST_SHORT = 8
"""So many steps more do not count at most: two batches each for four workers. If more are short, steps have
come to be shorter."""
AHEAD = 0.25
"""Further ahead than usual by this part of a step is no scatter. Steps have settled when the middle half of
them lies within a tenth of the median."""
SHORT = 0.75
"""A step is as long as usual from this part of it on."""
OVER = 2
"""After so many steps of usual length in a row all count: one may be long for another reason."""
KNOWN_STEPS = 5
"""Of fewer steps nobody knows what is usual: the first ones of a run warm up."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What steps took before a window."""

    pace_ns: float
    """A step, on average."""
    ahead_ns: float
    """The furthest that so many steps as are looked at in a window got ahead of that pace. Where one of them
    stalled and a loader's queue filled meanwhile, no step of the window is short."""

    @classmethod
    def of(cls, ends_ns: Sequence[int]) -> Usual | None:
        """Of the last steps, which ended at these times; None where they are few."""
        if len(ends_ns) <= KNOWN_STEPS:
            return None
        ends = list(islice(ends_ns, max(0, len(ends_ns) - LEVEL_STEPS - 1), None))
        # Over several steps, whose lengths may take turns. The median: one of them may have been very long.
        span = min(MOST_SHORT, len(ends) // 2)
        pace_ns = statistics.median(
            (late - early) / span for early, late in zip(ends, ends[span:], strict=False)
        )
        ahead_ns = max(_ahead_ns(ends[first : first + MOST_SHORT + 1], pace_ns) for first in range(len(ends)))
        return cls(pace_ns, ahead_ns)


def _ahead_ns(ends_ns: Sequence[int], pace_ns: float) -> float:
    """The furthest that the steps after the first of these ends were ahead of the pace at one of them."""
    return max(steps * pace_ns - (end_ns - ends_ns[0]) for steps, end_ns in enumerate(ends_ns))


class LeadIn:
    """Told the end of each step from the window's opening on."""

    def __init__(self, opened_ns: int, usual: Usual | None) -> None:
        """``usual``: None where that is not known, and no step is short."""
        self._usual = usual
        self._ends_ns = [opened_ns]
        self._usual_in_a_row = 0
        self._ended = 0
        self.steps = 0
        """Those that do not count, as far as is known."""
        self.counts_ns = opened_ns
        """Steps count from the first that begins at this time or later."""

    @property
    def counted(self) -> int:
        """Steps that have ended and count."""
        return self._ended - self.steps

    def step_ended(self, t_ns: int) -> None:
        self._ended += 1
        if self._ended <= LEAD_IN_STEPS:
            self.steps, self._ends_ns = self._ended, [t_ns]
        elif self._usual is not None and self._ended <= LEAD_IN_STEPS + MOST_SHORT:
            self._look(self._usual, t_ns)

    def _look(self, usual: Usual, t_ns: int) -> None:
        if self._usual_in_a_row == OVER:
            return
        is_short = t_ns - self._ends_ns[-1] < SHORT * usual.pace_ns
        self._usual_in_a_row = 0 if is_short else self._usual_in_a_row + 1
        self._ends_ns.append(t_ns)
        most_ns = usual.ahead_ns + AHEAD * usual.pace_ns
        short = next(
            steps
            for steps in range(len(self._ends_ns))
            if _ahead_ns(self._ends_ns[steps:], usual.pace_ns) <= most_ns
        )
        if short:
            self.steps, self.counts_ns = LEAD_IN_STEPS + short, self._ends_ns[short - 1] + 1
