"""Overlapping GPU work counted once."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest

from warplint.profile.attribution.busy import share_busy


def test_overlap_is_split_equally_and_gaps_are_what_is_left() -> None:
    # 10..20 a alone, 20..30 a and b, 30..40 b alone, 60..70 c.
    busy = share_busy([(10, 30, 1), (20, 40, 2), (60, 70, 3)], 0, 100)
    assert dict(busy.by_owner) == {1: 15, 2: 15, 3: 10}
    assert busy.gaps == [(0, 10), (40, 60), (70, 100)]
    assert (busy.busy_ns, busy.idle_ns) == (40, 60)


def test_work_is_clipped_to_the_range() -> None:
    busy = share_busy([(0, 10, 1), (5, 25, 2), (90, 200, 3), (300, 400, 4)], 10, 100)
    assert dict(busy.by_owner) == {2: 15, 3: 10}
    assert busy.gaps == [(25, 90)]


def test_odd_nanoseconds_are_not_lost() -> None:
    busy = share_busy([(0, 10, 1), (0, 10, 2), (0, 10, 3)], 0, 10)
    assert busy.busy_ns == 10
    assert sorted(busy.by_owner.values()) == [3, 3, 4]


def test_one_owner_twice_at_once_counts_once_in_time() -> None:
    assert dict(share_busy([(0, 10, 1), (0, 10, 1)], 0, 10).by_owner) == {1: 10}


def test_nothing_ran() -> None:
    busy = share_busy([], 5, 9)
    assert (busy.busy_ns, busy.gaps) == (0, [(5, 9)])
    assert share_busy([], 5, 5).gaps == []


@pytest.mark.parametrize("seed", range(25))
def test_against_counting_every_nanosecond(seed: int) -> None:
    chance = random.Random(seed)
    work = []
    for _ in range(chance.randrange(1, 12)):
        start = chance.randrange(-20, 120)
        work.append((start, start + chance.randrange(0, 40), chance.randrange(4)))
    busy = share_busy(work, 0, 100)
    exact: Counter[int] = Counter()
    idle = []
    for tick in range(100):
        running = [owner for start, end, owner in work if start <= tick < end]
        for owner in running:
            exact[owner] += Fraction(1, len(running))  # type: ignore[assignment]
        if not running:
            idle.append(tick)
    assert [tick for start, end in busy.gaps for tick in range(start, end)] == idle
    assert busy.busy_ns + busy.idle_ns == 100
    segments = 2 * len(work) + 2
    for owner in range(4):
        # Each stretch between two edges hands out whole nanoseconds, at most one off an owner's work.
        assert abs(busy.by_owner[owner] - exact[owner]) <= segments * len(work)
