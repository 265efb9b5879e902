"""Where a run's step time changed its level for good.

Seeded binary segmentation (Kovács, Bühlmann, Li and Munk 2023) with the narrowest-over-threshold choice
(Baranowski, Chen and Fryzlewicz 2019), on the ranks of the step times:

- Ranks bound what one step can do: a step that writes a checkpoint or evaluates is no change, however long.
- A split of an interval is judged by the rank sum of its left part against its permutation variance in that
  interval. Nothing is assumed of how step times are spread.
- Seeded intervals overlap at every length, so a stretch that is slow and ends is found too, where halving the
  whole series would see no difference between its halves.
- What is found must also matter: levels differ by ``LEAST_CHANGE`` and stand out of their scatter.

``O(n log n)`` in the number of times.
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

SHORTEST = 12
"""Fewer times than this are no level: a pause of some steps, such as an evaluation, is none."""
THRESHOLD = 1.3
"""A split counts above this many times ``sqrt(2 ln n)`` standard deviations: what n times reach by chance,
with the margin that Fryzlewicz (2014) recommends for intervals chosen by their result."""
LEAST_CHANGE = 0.05
"""Levels closer than this share of the lower are one: clocks and neighbours move step times by so much."""
LEAST_CONTRAST = 1.5
"""Levels must differ by so many times the larger half-width of their middle halves."""
SHRINK = math.sqrt(0.5)
"""Each layer's intervals are so much shorter than the last's, and overlap by half."""
MOST = 50
"""Changes kept, the largest: a run with more has no levels."""


def change_points(times: Sequence[float]) -> list[int]:
    """The positions at which a new level begins, rising. ``times`` are positive, in any unit."""
    if len(times) < 2 * SHORTEST:
        return []
    splits = _Splits(times)
    found = _moved_to_best(splits, _narrowest_over_threshold(splits))
    return _worth_telling(times, found)


def best_split(times: Sequence[float]) -> int | None:
    """Where one change, known to be among these times, lies; None where there is no room for two levels."""
    split = _Splits(times).best(0, len(times)) if len(times) >= 2 * SHORTEST else None
    return None if split is None else split.position


@dataclass(frozen=True, slots=True)
class _Split:
    score: float
    """Standard deviations by which the left part's rank sum is off."""
    position: int


class _Splits:
    """Answers for any interval of the series where it splits best."""

    def __init__(self, times: Sequence[float]) -> None:
        ranks = _ranks(times)
        self.length = len(ranks)
        self.threshold = THRESHOLD * math.sqrt(2 * math.log(self.length))
        self._sums = [0.0, *accumulate(ranks)]
        self._squares = [0.0, *accumulate(rank * rank for rank in ranks)]

    def best(self, begin: int, end: int) -> _Split | None:
        """The best split of ``[begin, end)``; None where no two levels fit in, or all times are equal."""
        count = end - begin
        total = self._sums[end] - self._sums[begin]
        scatter = self._squares[end] - self._squares[begin] - total * total / count
        if count < 2 * SHORTEST or scatter <= 0:
            return None
        mean, start = total / count, self._sums[begin]
        # A sum of k out of n ranks has the variance k (n - k) / n * scatter / (n - 1).
        score, position = max(
            (
                (self._sums[split] - start - (split - begin) * mean) ** 2 / ((split - begin) * (end - split)),
                split,
            )
            for split in range(begin + SHORTEST, end - SHORTEST + 1)
        )
        return _Split(math.sqrt(score * count * (count - 1) / scatter), position)


def _ranks(times: Sequence[float]) -> list[float]:
    """Ranks from 1, equal times sharing their mean rank."""
    order = sorted(times)
    return [(bisect.bisect_left(order, time) + bisect.bisect_right(order, time) + 1) / 2 for time in times]


def _seeded_intervals(length: int) -> Iterator[tuple[int, int]]:
    """From the shortest that can hold two levels to the whole series."""
    size, layers = float(length), []
    while size >= 2 * SHORTEST:
        count = max(1, 2 * math.ceil(length / size) - 1)
        shift = (length - size) / (count - 1) if count > 1 else 0.0
        layers.append([(math.floor(i * shift), math.ceil(i * shift + size)) for i in range(count)])
        size *= SHRINK
    for layer in reversed(layers):
        yield from ((begin, min(end, length)) for begin, end in layer)


def _narrowest_over_threshold(splits: _Splits) -> list[int]:
    """A position for each change, from the narrowest interval that shows one: it holds no other."""
    found: list[int] = []
    for begin, end in _seeded_intervals(splits.length):
        if any(begin < position < end for position in found):
            continue
        split = splits.best(begin, end)
        if split is not None and split.score > splits.threshold:
            bisect.insort(found, split.position)
    return found


def _moved_to_best(splits: _Splits, found: list[int]) -> list[int]:
    """Each change where it splits the times between its neighbours best; twice, since those move too."""
    bounds = [0, *found, splits.length]
    for _ in range(2):
        for index in range(1, len(bounds) - 1):
            split = splits.best(bounds[index - 1], bounds[index + 1])
            if split is not None:
                bounds[index] = split.position
    return bounds[1:-1]


def _worth_telling(times: Sequence[float], found: list[int]) -> list[int]:
    """Without the changes that are too small to matter, the smallest given up first."""
    kept = list(found)
    while kept:
        bounds = [0, *kept, len(times)]
        levels = [_Level.of(times[begin:end]) for begin, end in pairwise(bounds)]
        changes = [_change(before, after) for before, after in pairwise(levels)]
        smallest = min(range(len(kept)), key=lambda index: changes[index])
        if changes[smallest] >= 1.0 and len(kept) <= MOST:
            break
        del kept[smallest]
    return kept


@dataclass(frozen=True, slots=True)
class _Level:
    """The logarithms of a stretch of times: their median, and half the width of their middle half."""

    median: float
    scatter: float

    @classmethod
    def of(cls, times: Sequence[float]) -> _Level:
        low, median, high = statistics.quantiles((math.log(time) for time in times), n=4, method="inclusive")
        return cls(median, (high - low) / 2)


def _change(before: _Level, after: _Level) -> float:
    """How large a change is, in units of the least one that is told."""
    size = abs(after.median - before.median)
    least = max(math.log1p(LEAST_CHANGE), LEAST_CONTRAST * max(before.scatter, after.scatter))
    return size / least
