"""What each thread was inside at a time: operators by nesting, annotations and calls as sets of intervals."""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

from warplint.profile.changes import Changes
from warplint.profile.kineto.trace import NONE, HostSpans


class Spans(Protocol):
    """Columns of starts and ends."""

    @property
    def start(self) -> Sequence[int]: ...

    @property
    def end(self) -> Sequence[int]: ...


class _Listed(NamedTuple):
    start: list[int]
    end: list[int]


class ThreadNesting:
    """The spans of one thread by start, each with the innermost span around it."""

    def __init__(self, spans: Spans, members: Iterable[int]) -> None:
        self.spans = outer_first(spans, members)
        self.starts = list(map(spans.start.__getitem__, self.spans))
        self.ends = list(map(spans.end.__getitem__, self.spans))

    @cached_property
    def _parents(self) -> list[int]:
        parents: list[int] = []
        opened: list[int] = []
        ends = self.ends
        for position, start in enumerate(self.starts):
            while opened and ends[opened[-1]] <= start:
                opened.pop()
            parents.append(opened[-1] if opened else NONE)
            opened.append(position)
        return parents

    @cached_property
    def innermost(self) -> Changes:
        """The innermost span (an index into the columns) at any time; NONE outside all."""
        found = Changes(NONE)
        ends, parents, spans = self.ends, self._parents, self.spans
        following = [*self.starts[1:], max(ends, default=0) + 1]
        for position, (start, until) in enumerate(zip(self.starts, following, strict=False)):
            now = start
            while position != NONE and now < until:
                if ends[position] > now:
                    found.add(now, spans[position])
                    now = ends[position]
                position = parents[position]
            if now < until:
                found.add(now, NONE)
        return found

    def around(self, time: int) -> Iterator[int]:
        """The spans (indices into the columns) that ``time`` lies in, innermost first."""
        position = bisect.bisect_right(self.starts, time) - 1
        while position != NONE:
            if self.ends[position] > time:
                yield self.spans[position]
            position = self._parents[position]

    def outermost(self) -> list[tuple[int, int]]:
        """Start and end of the spans that lie in no other."""
        found: list[tuple[int, int]] = []
        latest = -math.inf
        for start, end in zip(self.starts, self.ends, strict=True):
            if start >= latest:
                found.append((start, end))
                latest = end
            elif end > latest:
                latest = end
        return found


class Intervals:
    """A set of disjoint half-open intervals, from any that may overlap."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        known = sorted([span for span in spans if span[1] > span[0]])
        if not known:
            return
        begin, last = known[0]
        for start, end in known:
            if start > last:
                self.starts.append(begin)
                self.ends.append(last)
                begin, last = start, end
            elif end > last:
                last = end
        self.starts.append(begin)
        self.ends.append(last)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts, self.ends, strict=True)

    def contains(self, time: int) -> bool:
        index = bisect.bisect_right(self.starts, time) - 1
        return index >= 0 and time < self.ends[index]

    def contain(self, times: Sequence[int]) -> list[int]:
        """1 or 0 for each of these sorted times."""
        return self._inside.at_each(times)

    @cached_property
    def _inside(self) -> Changes:
        found = Changes(0)
        for start, end in self:
            found.add(start, 1)
            found.add(end, 0)
        return found

    def overlapping(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of the set within ``[start, end)``."""
        index = bisect.bisect_right(self.ends, start)
        while index < len(self.starts) and self.starts[index] < end:
            yield max(start, self.starts[index]), min(end, self.ends[index])
            index += 1

    def outside(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of ``[start, end)`` that no interval covers."""
        for left, right in self.overlapping(start, end):
            if left > start:
                yield start, left
            start = right
        if start < end:
            yield start, end


def thread_nestings(spans: HostSpans) -> dict[int, ThreadNesting]:
    """All of some spans, by thread."""
    # Lists give their numbers out in a third of the time that arrays take.
    listed = _Listed(spans.start.tolist(), spans.end.tolist())
    members = by_thread(spans, range(len(spans)))
    return {thread: ThreadNesting(listed, each) for thread, each in members.items()}


def outer_first(spans: Spans, members: Iterable[int]) -> list[int]:
    """Span indices by start, of those with the same start the longest first."""
    starts, ends = spans.start, spans.end
    # Records stand mostly in order already: then to sort is to look once.
    order = sorted(members, key=starts.__getitem__)
    begins = list(map(starts.__getitem__, order))
    alike = [index for index, (early, late) in enumerate(pairwise(begins)) if early == late]
    done = 0
    for first in alike:
        if first >= done and ends[order[first]] < ends[order[first + 1]]:
            begin = bisect.bisect_left(begins, begins[first])
            done = bisect.bisect_right(begins, begins[first], begin)
            order[begin:done] = sorted(order[begin:done], key=ends.__getitem__, reverse=True)
    return order


def by_thread(spans: HostSpans, members: Iterable[int]) -> dict[int, list[int]]:
    """Group span indices by their thread."""
    grouped: dict[int, list[int]] = defaultdict(list)
    threads = spans.thread.tolist()
    if len(set(threads)) == 1:
        grouped[threads[0]] = list(members)
        return {thread: each for thread, each in grouped.items() if each}
    for span in members:
        grouped[threads[span]].append(span)
    return dict(grouped)
