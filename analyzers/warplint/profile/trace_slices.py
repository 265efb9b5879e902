"""Cuts a long trace into slices of time, each joined by itself, so that a join's memory does not grow with
it.

What a slice is asked about is its own time: when the GPU worked then, where the host was then, what it
launched then. So it holds every host span and piece of GPU work that reaches into its time, the work that
was launched in it, the launches of work that reaches into it from before, and the operators of the slice
before, among which are the makers of its backward nodes. Each launch lies in one slice, and with it the
work it counts for.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from warplint.profile.trace import NONE, Arrows, DeviceWork, HostSpans, Trace

SLICE_EVENTS = 150_000
"""Host spans and pieces of GPU work in a slice. A join takes about a kilobyte for each."""

BUCKETS = 4096
"""In how many equal parts of the time events are counted, to find slices of that size."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a trace: what it is asked about lies in ``[begin, end)``, in which ``steps`` steps begin."""

    trace: Trace
    begin: int
    end: int
    steps: int


def slices(
    trace: Trace, begin: int, end: int, step_starts: Sequence[int], events: int = SLICE_EVENTS
) -> Iterator[Slice]:
    """All of ``[begin, end)`` in slices of about ``events``. They begin where a step does, if steps are
    that short.

    ``step_starts`` are sorted. A trace of one slice is given as it is.
    """
    bounds = _bounds(trace, begin, end, step_starts, events)
    if len(bounds) == 2:
        yield Slice(trace, begin, end, len(step_starts))
        return
    cutter = _Cutter(trace, bounds)
    for number, (first, last) in enumerate(pairwise(bounds)):
        steps = bisect.bisect_left(step_starts, last) - bisect.bisect_left(step_starts, first)
        yield Slice(cutter.cut(number), first, last, steps)


def _bounds(trace: Trace, begin: int, end: int, step_starts: Sequence[int], events: int) -> list[int]:
    columns = (trace.operators.start, trace.calls.start, trace.work.start, trace.frames.start)
    if sum(map(len, columns)) <= events:
        return [begin, end]
    width = max(1, -(-(end - begin) // BUCKETS))
    counts = [0] * BUCKETS
    for starts in columns:
        for start in starts:
            if begin <= start < end:
                counts[(start - begin) // width] += 1
    bounds, held = [begin], 0
    for bucket, count in enumerate(counts):
        held += count
        if held < events:
            continue
        after = min(end, begin + (bucket + 1) * width)
        position = bisect.bisect_right(step_starts, after) - 1
        at = step_starts[position] if position >= 0 and step_starts[position] > bounds[-1] else after
        bounds.append(at)
        # What stands behind the step's begin belongs to the next slice.
        held = sum(counts[(at - begin) // width : bucket + 1])
    if bounds[-1] < end:
        bounds.append(end)
    return bounds


class _Cutter:
    """Knows in which slices every record belongs."""

    def __init__(self, trace: Trace, bounds: Sequence[int]) -> None:
        self._trace, self._bounds = trace, bounds
        self._count = len(bounds) - 1
        self._operators = self._members(trace.operators, behind=1)
        self._annotations = self._members(trace.annotations)
        self._frames = self._members(trace.frames)
        self._calls = self._members(trace.calls)
        self._work = [array("i") for _ in range(self._count)]
        self._place_work()
        self._forward = sorted(trace.arrows.forward.items(), key=lambda arrow: arrow[1][1])
        self._backward = self._arrows_by_slice()

    def cut(self, number: int) -> Trace:
        trace = self._trace
        part = Trace(
            origin_us=trace.origin_us,
            base_ns=trace.base_ns,
            names=trace.names,
            devices=trace.devices,
            arrows=self._backward[number],
            # Once for the whole.
            malformed=trace.malformed if number == 0 else 0,
        )
        for chosen, whole, members in (
            (part.operators, trace.operators, self._operators),
            (part.annotations, trace.annotations, self._annotations),
            (part.frames, trace.frames, self._frames),
            (part.calls, trace.calls, self._calls),
            (part.work, trace.work, self._work),
        ):
            _select(chosen, whole, members[number])
            # A slice is cut once; what it was made from is not needed again.
            members[number] = array("i")
        return part

    def _slice_of(self, time: int) -> int:
        found = bisect.bisect_right(self._bounds, time) - 1
        return min(max(found, 0), self._count - 1)

    def _members(self, spans: HostSpans, behind: int = 0) -> list[array[int]]:
        """Indices by slice; those of a span go to all that it reaches into, and ``behind`` more."""
        found = [array("i") for _ in range(self._count)]
        ends = spans.end
        for index, start in enumerate(spans.start):
            first, last = self._slice_of(start), self._slice_of(ends[index])
            for number in range(first, min(last + behind, self._count - 1) + 1):
                found[number].append(index)
        return found

    def _place_work(self) -> None:
        work, calls = self._trace.work, self._trace.calls
        call_of = _CallIndex(calls.correlation)
        for index, start in enumerate(work.start):
            first, last = self._slice_of(start), self._slice_of(work.end[index])
            call = call_of.find(work.correlation[index])
            launched = first if call is None else self._slice_of(calls.start[call])
            reached = {launched, *range(first, last + 1)}
            for number in reached:
                self._work[number].append(index)
                if call is not None and not self._holds(number, calls, call):
                    self._calls[number].append(call)

    def _holds(self, number: int, calls: HostSpans, call: int) -> bool:
        return self._slice_of(calls.start[call]) <= number <= self._slice_of(calls.end[call])

    def _arrows_by_slice(self) -> list[Arrows]:
        found = [Arrows() for _ in range(self._count)]
        arrows = self._trace.arrows
        for flow, end in arrows.backward.items():
            if flow in arrows.forward:
                part = found[self._slice_of(end[1])]
                part.backward[flow], part.forward[flow] = end, arrows.forward[flow]
        return found


class _CallIndex:
    """Finds a call by its correlation, of several the last; in little memory, since they mostly stand in
    order."""

    def __init__(self, correlations: array[int]) -> None:
        self._sorted = all(early <= late for early, late in pairwise(correlations))
        if self._sorted:
            self._keys, self._order = correlations, None
        else:
            order = sorted(range(len(correlations)), key=correlations.__getitem__)
            self._order = array("i", order)
            self._keys = array("q", map(correlations.__getitem__, order))

    def find(self, correlation: int) -> int | None:
        if correlation == NONE:
            return None
        position = bisect.bisect_right(self._keys, correlation) - 1
        if position < 0 or self._keys[position] != correlation:
            return None
        return position if self._order is None else self._order[position]


def _select(chosen: HostSpans | DeviceWork, whole: HostSpans | DeviceWork, members: array[int]) -> None:
    for into, column in zip(chosen.all_columns, whole.all_columns, strict=True):
        into.extend(map(column.__getitem__, members))
