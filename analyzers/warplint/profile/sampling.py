"""Values that change at certain times, asked for many times at once.

A lookup for each of ten thousand calls costs more than all else that is done with them. Sorted questions need
no lookup each: where the changes are fewer, each is found once among the questions.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, MutableSequence, Sequence
from itertools import chain, repeat


class Steps:
    """A value for every time: ``before`` at first, and from ``times[i]`` on ``values[i]``."""

    def __init__(
        self,
        before: int,
        times: MutableSequence[int] | None = None,
        values: MutableSequence[int] | None = None,
    ) -> None:
        """``times`` are sorted; of several values at one time the last counts."""
        self.before = before
        self.times: MutableSequence[int] = [] if times is None else times
        self.values: MutableSequence[int] = [] if values is None else values

    def add(self, time: int, value: int) -> None:
        """``time`` is not before those that are there."""
        self.times.append(time)
        self.values.append(value)

    def at(self, time: int) -> int:
        index = bisect_right(self.times, time)
        return self.values[index - 1] if index else self.before

    def at_each(self, times: Sequence[int]) -> list[int]:
        """The value at each of these sorted times."""
        if not self.times:
            return [self.before] * len(times)
        if len(times) <= len(self.times):
            before, values = self.before, self.values
            found = map(bisect_right, repeat(self.times), times)
            return [values[index - 1] if index else before for index in found]
        firsts = list(map(bisect_left, repeat(times), self.times))
        lengths = map(operator.sub, [*firsts, len(times)], [0, *firsts])
        return list(chain.from_iterable(map(repeat, [self.before, *self.values], lengths)))

    def spans(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(start, end, value) without a hole over ``[start, end)``."""
        first, last = bisect_right(self.times, start), bisect_left(self.times, end)
        begins = [start, *self.times[first:last]]
        ends = [*self.times[first:last], end]
        values = [self.values[first - 1] if first else self.before, *self.values[first:last]]
        return (span for span in zip(begins, ends, values, strict=True) if span[1] > span[0])
