"""Values that change at certain times, asked for many times at once.

To look each of ten thousand calls up costs more than all else that is done with them. Sorted questions need
no looking up: one goes along the questions and the changes together.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, MutableSequence, Sequence

LOOK_UP = 16
"""With so many more changes than questions each question is looked up: to look up takes as long as to pass
some ten changes."""
NEVER: tuple[float, int] = (math.inf, 0)


class Changes:
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
        if len(times) * LOOK_UP <= len(self.times):
            return list(map(self.at, times))
        found, value = [], self.before
        changes = zip(self.times, self.values, strict=True)
        change, following = next(changes, NEVER)
        for time in times:
            while change <= time:
                value = following
                change, following = next(changes, NEVER)
            found.append(value)
        return found

    def spans(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(start, end, value) without a hole over ``[start, end)``."""
        first, last = bisect_right(self.times, start), bisect_left(self.times, end)
        begins = [start, *self.times[first:last]]
        ends = [*self.times[first:last], end]
        values = [self.values[first - 1] if first else self.before, *self.values[first:last]]
        return (span for span in zip(begins, ends, values, strict=True) if span[1] > span[0])


def counted(times: Sequence[int]) -> Changes:
    """How many of these sorted times have been, at any time."""
    return Changes(0, list(times), list(range(1, len(times) + 1)))
