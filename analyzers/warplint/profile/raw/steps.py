"""The steps of a whole run, as STEPS and STEP_BUCKETS records hold them."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

BUCKET_FIELDS = 6


@dataclass(frozen=True, slots=True)
class StepSpan:
    """Consecutive steps, ``first`` to ``last``: most often one, whose time all three figures are."""

    first: int
    last: int
    begin_ns: int
    end_ns: int
    shortest_ns: int
    median_ns: int
    longest_ns: int

    @property
    def steps(self) -> int:
        return self.last - self.first + 1


class RawSteps:
    """Collects the records of one process in the order of its file."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._buckets: list[tuple[int, ...]] = []

    def add_ends(self, pairs: array[int]) -> None:
        """The payload of a STEPS record. Raises ValueError when it is not made of pairs."""
        self._ends.update(zip(pairs[::2], pairs[1::2], strict=True))

    def add_buckets(self, sextuples: array[int]) -> None:
        """The payload of a STEP_BUCKETS record. Raises ValueError when it is not made of such."""
        columns = (sextuples[each::BUCKET_FIELDS] for each in range(BUCKET_FIELDS))
        self._buckets.extend(zip(*columns, strict=True))

    @property
    def ends_ns(self) -> list[int]:
        """When the steps ended that are kept one by one: all of most runs, and those around windows."""
        return [self._ends[index] for index in sorted(self._ends)]

    def spans(self) -> Iterator[StepSpan]:
        """Every step of the run whose time is known, once, in order.

        The first has no beginning. Steps beside a window are in a bucket too, which is what counts.
        """
        before: tuple[int, int] | None = None
        for last, steps, end_ns, *times in sorted([*self._outside_buckets(), *self._buckets]):
            if before is not None and before[0] == last - steps and before[1] < end_ns:
                length = end_ns - before[1]
                shortest, median, longest = times or (length, length, length)
                yield StepSpan(before[0] + 1, last, before[1], end_ns, shortest, median, longest)
            before = (last, end_ns)

    def _outside_buckets(self) -> Iterator[tuple[int, ...]]:
        ranges = sorted((last, last - steps + 1) for last, steps, *_ in self._buckets)
        for index, t_ns in self._ends.items():
            position = bisect.bisect_left(ranges, (index, 0))
            if position == len(ranges) or index < ranges[position][1]:
                yield index, 1, t_ns
