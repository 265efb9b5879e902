"""Which steps at the start of a window do not count.

The first is not whole: the window opened within it. While the program waited for that, loaders that prefetch
filled their queues, so that some steps after it wait for less data than all others do.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import islice, pairwise

from warplint.capture.settings import LEAD_IN_STEPS
from warplint.capture.steps.regimes import LEVEL_STEPS

SHORT = 0.75
"""A step that takes less than this part of a short usual one is one that something was ready for. Steps have
settled when the middle half of them lies within a tenth of the median."""
MOST_SHORT = 8
"""So many steps more do not count at most: two batches each for four workers. If more are short, steps have
come to be shorter."""
OVER = 2
"""After so many steps of usual length in a row all count: one may be long for another reason."""
KNOWN_STEPS = 5
"""Of fewer steps nobody knows what is usual: the first ones of a run warm up."""


def usual_step_ns(ends_ns: Sequence[int]) -> float:
    """What three in four of the last steps, which ended at these times, took at least; 0 where they are few.

    Not the median: where short and long steps alternate, the short ones are as usual as the long ones.
    """
    if len(ends_ns) <= KNOWN_STEPS:
        return 0.0
    last = islice(ends_ns, max(0, len(ends_ns) - LEVEL_STEPS - 1), None)
    return statistics.quantiles([late - early for early, late in pairwise(last)], n=4, method="inclusive")[0]


class LeadIn:
    """Told the end of each step from the window's opening on."""

    def __init__(self, opened_ns: int, usual_ns: float) -> None:
        """``usual_ns``: what a usual step takes at least; 0 where that is not known, and no step is short."""
        self._usual_ns = usual_ns
        self._last_ns = opened_ns
        self._ended = 0
        self._usual_in_a_row = 0
        self.steps = 0
        """Those that do not count, as far as is known."""
        self.counts_ns = opened_ns
        """Steps count from the first that begins at this time or later."""

    @property
    def counted(self) -> int:
        """Steps that have ended and count."""
        return self._ended - self.steps

    def step_ended(self, t_ns: int) -> None:
        began_ns, self._last_ns = self._last_ns, t_ns
        self._ended += 1
        if self._ended <= LEAD_IN_STEPS:
            self.steps = self._ended
        elif self._ended > LEAD_IN_STEPS + MOST_SHORT or self._usual_in_a_row == OVER:
            return
        elif t_ns - began_ns < SHORT * self._usual_ns:
            self.steps, self.counts_ns = self._ended, began_ns + 1
            self._usual_in_a_row = 0
        else:
            self._usual_in_a_row += 1
