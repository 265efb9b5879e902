"""What each thread was inside at a time: operators by nesting, annotations and calls as sets of intervals."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator

from warplint.profile.trace import NONE, HostSpans


class ThreadNesting:
    """The spans of one thread by start, each with the innermost span around it."""

    def __init__(self, spans: HostSpans, members: Iterable[int]) -> None:
        self.spans = outer_first(spans, members)
        self.starts = [spans.start[span] for span in self.spans]
        self.ends = [spans.end[span] for span in self.spans]
        self._parents = self._find_parents()

    def _find_parents(self) -> list[int]:
        parents: list[int] = []
        opened: list[int] = []
        for position, start in enumerate(self.starts):
            while opened and self.ends[opened[-1]] <= start:
                opened.pop()
            parents.append(opened[-1] if opened else NONE)
            opened.append(position)
        return parents

    def around(self, time: int) -> Iterator[int]:
        """The spans (indices into the columns) that ``time`` lies in, innermost first."""
        position = bisect.bisect_right(self.starts, time) - 1
        while position != NONE:
            if self.ends[position] > time:
                yield self.spans[position]
            position = self._parents[position]

    def outermost(self) -> Iterator[int]:
        """The spans that lie in no other."""
        return (span for span, parent in zip(self.spans, self._parents, strict=True) if parent == NONE)


class Intervals:
    """A set of disjoint half-open intervals, from any that may overlap."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(spans):
            if end <= start:
                continue
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts, self.ends, strict=True)

    def contains(self, time: int) -> bool:
        index = bisect.bisect_right(self.starts, time) - 1
        return index >= 0 and time < self.ends[index]

    def overlapping(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of the set within ``[start, end)``."""
        index = bisect.bisect_right(self.ends, start)
        while index < len(self.starts) and self.starts[index] < end:
            yield max(start, self.starts[index]), min(end, self.ends[index])
            index += 1


def outer_first(spans: HostSpans, members: Iterable[int]) -> list[int]:
    """Span indices by start, of those with the same start the longest first."""
    # Sorting is stable, and a column is a faster key than a function of two.
    by_end = sorted(members, key=spans.end.__getitem__, reverse=True)
    return sorted(by_end, key=spans.start.__getitem__)


def by_thread(spans: HostSpans, members: Iterable[int]) -> dict[int, list[int]]:
    """Group span indices by their thread."""
    grouped: dict[int, list[int]] = {}
    for span in members:
        grouped.setdefault(spans.thread[span], []).append(span)
    return grouped
