"""When the GPU worked: overlapping work counted once, and the gaps between.

All in whole nanoseconds, so that the parts sum to the whole exactly.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Busy:
    """Busy time of ``[begin, end)`` by owner, and the idle gaps; busy and gaps cover the range exactly."""

    by_owner: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    gaps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def busy_ns(self) -> int:
        return sum(self.by_owner.values())

    @property
    def idle_ns(self) -> int:
        return sum(end - start for start, end in self.gaps)


def share_busy(work: Iterable[tuple[int, int, int]], begin: int, end: int) -> Busy:
    """Charge ``(start, end, owner)`` intervals, clipped to the range.

    Where several run at once the time is split equally among them; nanoseconds that do not divide go one each
    to those that end first.
    """
    busy = Busy()
    by_owner, gaps = busy.by_owner, busy.gaps
    active: list[tuple[int, int, int]] = []
    now = begin
    for order, (start, stop, owner) in enumerate(sorted(work)):
        if start < begin:
            start = begin
        if stop > end:
            stop = end
        if stop <= start:
            continue
        if len(active) == 1 and active[0][0] <= start:
            # Mostly one piece of work follows the other.
            until, _, before = active.pop()
            by_owner[before] += until - now
            if until < start:
                gaps.append((until, start))
            now = start
        else:
            now = _advance(busy, active, now, start)
        heapq.heappush(active, (stop, order, owner))
    _advance(busy, active, now, end)
    return busy


def _advance(busy: Busy, active: list[tuple[int, int, int]], now: int, until: int) -> int:
    """Charge the time from ``now`` to ``until`` to what is active, dropping what ends on the way."""
    while active and now < until:
        stop = min(active[0][0], until)
        _split(busy, active, stop - now)
        now = stop
        while active and active[0][0] <= now:
            heapq.heappop(active)
    if now < until:
        busy.gaps.append((now, until))
    return until


def _split(busy: Busy, active: list[tuple[int, int, int]], length: int) -> None:
    by_owner = busy.by_owner
    if len(active) == 1:
        by_owner[active[0][2]] += length
    elif len(active) == 2:
        # The first of a heap ends first.
        by_owner[active[0][2]] += length - length // 2
        by_owner[active[1][2]] += length // 2
    else:
        each, left = divmod(length, len(active))
        for position, (_, _, owner) in enumerate(sorted(active) if left else active):
            by_owner[owner] += each + (1 if position < left else 0)
