"""When each step of the whole run ended, in bounded space.

The first steps are kept one by one, and so are those in and beside every window. Of the rest each record is a
bucket of steps, and buckets double in size as the run goes on: ten million steps take two megabytes, and the
part of a long run that a change happened in is still known to a thousandth.
"""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Sequence
from itertools import pairwise

EXACT_STEPS = 20_000
"""So many steps are kept one by one, 320 kB: all of most runs."""
SMALLEST_BUCKET = 2
BUCKETS_A_SIZE = 5_000
"""After so many buckets they double, so that a size takes 200 kB and outlasts all sizes before it."""


class StepLog:
    """Steps on their way to the raw file, as STEPS and STEP_BUCKETS hold them."""

    def __init__(self) -> None:
        self._exact_until = EXACT_STEPS
        self._steps = array("q")
        self._buckets = array("q")
        self._bucket: list[int] = []
        """The ends of the open bucket's steps, after that of the step before it."""
        self._size = SMALLEST_BUCKET
        self._of_this_size = 0
        self._last_ns = 0
        """0 before the first step: where the log begins late in a run, that one has no known length."""

    def add(self, index: int, t_ns: int) -> None:
        if index <= self._exact_until:
            self._steps.extend((index, t_ns))
        elif self._bucket or self._last_ns:
            if not self._bucket:
                self._bucket.append(self._last_ns)
            self._bucket.append(t_ns)
            if len(self._bucket) > self._size:
                self._close_bucket(index)
        self._last_ns = t_ns

    def keep(self, index: int, recent_ns: Sequence[int]) -> None:
        """From here on keep each step, and once more those that ended last, ``index`` the last of them."""
        if index > self._exact_until:
            self._close_bucket(index)
            first = index - len(recent_ns) + 1
            for step, t_ns in enumerate(recent_ns, first):
                self._steps.extend((step, t_ns))
        self._exact_until = 1 << 62

    def thin_out_after(self, index: int) -> None:
        """Buckets may begin after this step."""
        self._exact_until = max(EXACT_STEPS, index)

    def take(self) -> tuple[array[int], array[int]]:
        """What was not taken before: STEPS and STEP_BUCKETS, flat. An open bucket stays."""
        steps, self._steps = self._steps, array("q")
        buckets, self._buckets = self._buckets, array("q")
        return steps, buckets

    def finish(self, index: int) -> None:
        """Close the open bucket, whose last step is ``index``."""
        self._close_bucket(index)

    def _close_bucket(self, index: int) -> None:
        ends_ns, self._bucket = self._bucket, []
        if len(ends_ns) < 2:
            return
        times = [late - early for early, late in pairwise(ends_ns)]
        median = round(statistics.median(times))
        self._buckets.extend((index, len(times), ends_ns[-1], min(times), median, max(times)))
        self._of_this_size += 1
        if self._of_this_size == BUCKETS_A_SIZE:
            self._of_this_size, self._size = 0, 2 * self._size
