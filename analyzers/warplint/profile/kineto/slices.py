"""Cuts a long trace into slices of time, each joined by itself, so that a join's memory does not grow with
it.

What a slice is asked about is its own time: when the GPU worked then, where the host was then, what it
launched then. So it holds the GPU work that reaches into its time or was launched in it, the launches of that
work, and the host spans from the first of these launches on. Where slices do not begin with steps it holds
those of the slice before, among which are the makers of its backward nodes. Each launch lies in one slice,
and with it the work it counts for.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

from warplint.profile.kineto.trace import NONE, Arrows, DeviceWork, HostSpans, Trace

SLICE_EVENTS = 150_000
"""Host spans and pieces of GPU work in a slice. A join takes about a kilobyte for each."""

BUCKETS = 4096
"""In how many equal parts of the time events are counted, to find slices of that size."""

RUN = 256
"""Records that are placed at once where they all lie in the same slice."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a trace: what it is asked about lies in ``[begin, end)``, in which ``steps`` steps begin."""

    begin: int
    end: int
    steps: int
    cut: Callable[[], Trace]
    """Makes the part."""


def slices(
    trace: Trace, begin: int, end: int, step_starts: Sequence[int], events: int | None = None
) -> Iterator[Slice]:
    """All of ``[begin, end)`` in slices of about ``events``. They begin where a step does, if steps are
    that short.

    ``step_starts`` are sorted. A trace of one slice is given as it is.
    """
    bounds = _bounds(trace, begin, end, step_starts, events or SLICE_EVENTS)
    if len(bounds) == 2:
        yield Slice(begin, end, len(step_starts), lambda: trace)
        return
    cutter = _Cutter(trace, bounds, at_steps=set(bounds[1:-1]) <= set(step_starts))
    for number, (first, last) in enumerate(pairwise(bounds)):
        steps = bisect.bisect_left(step_starts, last) - bisect.bisect_left(step_starts, first)
        yield Slice(first, last, steps, partial(cutter.cut, number))


def _bounds(trace: Trace, begin: int, end: int, step_starts: Sequence[int], events: int) -> list[int]:
    columns = (trace.operators.start, trace.calls.start, trace.work.start, trace.frames.start)
    if sum(map(len, columns)) <= events:
        return [begin, end]
    width = max(1, -(-(end - begin) // BUCKETS))
    edges = [min(end, begin + bucket * width) for bucket in range(BUCKETS + 1)]
    counts = [0] * BUCKETS
    for starts in columns:
        ordered = sorted(starts)
        passed = [bisect.bisect_left(ordered, edge) for edge in edges]
        counts = [count + late - early for count, (early, late) in zip(counts, pairwise(passed), strict=True)]
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

    def __init__(self, trace: Trace, bounds: Sequence[int], at_steps: bool) -> None:
        """``at_steps``: the slices begin where steps do."""
        self._trace, self._bounds = trace, bounds
        self._count = len(bounds) - 1
        self._since = list(bounds[:-1] if at_steps else [bounds[0], *bounds[:-2]])
        """From when on each slice has host spans. A backward pass has its forward pass in the same step."""
        self._work, self._early_calls = self._empty(), [array("i") for _ in range(self._count)]
        self._place_work(at_steps)
        self._spans = {name: self._members(spans) for name, spans in trace.host_spans()}
        for members, early in zip(self._spans["calls"], self._early_calls, strict=True):
            if early:
                members.add_each(sorted(set(early).difference(members)))
        self._arrows = self._arrows_by_slice()

    def cut(self, number: int) -> Trace:
        trace = self._trace
        part = Trace(
            origin_us=trace.origin_us,
            base_ns=trace.base_ns,
            names=trace.names,
            devices=trace.devices,
            arrows=self._arrows[number],
            # Once for the whole.
            malformed=trace.malformed if number == 0 else 0,
        )
        for name, spans in trace.host_spans():
            _select(getattr(part, name), spans, self._spans[name][number])
        _select(part.work, trace.work, self._work[number])
        return part

    def _empty(self) -> list[_Members]:
        return [_Members() for _ in range(self._count)]

    def _slice_of(self, time: int) -> int:
        found = bisect.bisect_right(self._bounds, time) - 1
        return min(max(found, 0), self._count - 1)

    def _members(self, spans: HostSpans) -> list[_Members]:
        """Indices by slice; those of a span go to every slice whose time, from ``since`` on, it reaches
        into."""
        found = self._empty()
        since, last = self._since, self._count - 1
        for begin, end in _runs(len(spans)):
            starts, ends = spans.start[begin:end], spans.end[begin:end]
            number = self._slice_of(min(starts))
            alone = number == last or max(ends) < since[number + 1]
            if alone and number == self._slice_of(max(starts)):
                found[number].add(begin, end)
                continue
            for index, (start, stop) in enumerate(zip(starts, ends, strict=True), begin):
                reached = self._slice_of(start)
                found[reached].add(index, index + 1)
                while reached < last and stop >= since[reached + 1]:
                    reached += 1
                    found[reached].add(index, index + 1)
        return found

    def _place_work(self, at_steps: bool) -> None:
        """Also finds the launches of work that reaches into a slice, or ran in one, from before it."""
        work, calls = self._trace.work, self._trace.calls
        call_of = _CallIndex(calls.correlation)
        for begin, end in _runs(len(work)):
            starts, ends, correlations = (
                column[begin:end] for column in (work.start, work.end, work.correlation)
            )
            if at_steps:
                launched = [calls.start[call] for call in call_of.among(min(correlations), max(correlations))]
                number = self._slice_of(min(*starts, *launched))
                if number == self._slice_of(max(*ends, *launched)):
                    self._work[number].add(begin, end)
                    continue
            for index, (start, stop, correlation) in enumerate(
                zip(starts, ends, correlations, strict=True), begin
            ):
                self._place_one(index, start, stop, call_of.find(correlation), at_steps)

    def _place_one(self, index: int, start: int, end: int, call: int | None, at_steps: bool) -> None:
        first, last = self._slice_of(start), self._slice_of(end)
        begun = 0 if call is None else self._trace.calls.start[call]
        launched = first if call is None else self._slice_of(begun)
        named = launched if at_steps else min(launched + 1, self._count - 1)
        for number in {launched, named, *range(first, last + 1)}:
            self._work[number].add(index, index + 1)
            if call is not None and number > launched:
                self._early_calls[number].append(call)
                self._since[number] = min(self._since[number], begun)

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

    def among(self, least: int, most: int) -> Sequence[int]:
        """The calls with a correlation between these."""
        begin, end = bisect.bisect_left(self._keys, least), bisect.bisect_right(self._keys, most)
        return range(begin, end) if self._order is None else self._order[begin:end]

    def find(self, correlation: int) -> int | None:
        if correlation == NONE:
            return None
        position = bisect.bisect_right(self._keys, correlation) - 1
        if position < 0 or self._keys[position] != correlation:
            return None
        return position if self._order is None else self._order[position]


def _runs(length: int) -> Iterator[tuple[int, int]]:
    """Records mostly stand by time: whole runs of them lie in one slice."""
    return ((begin, min(begin + RUN, length)) for begin in range(0, length, RUN))


class _Members:
    """Indices as ranges, since most follow one another."""

    def __init__(self) -> None:
        self._begins, self._ends = array("i"), array("i")

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(map(range, self._begins, self._ends))

    def add(self, begin: int, end: int) -> None:
        if self._ends and self._ends[-1] == begin:
            self._ends[-1] = end
        else:
            self._begins.append(begin)
            self._ends.append(end)

    def add_each(self, indices: Iterable[int]) -> None:
        for index in indices:
            self.add(index, index + 1)

    def of(self, column: array[int]) -> Iterator[array[int]]:
        return (column[begin:end] for begin, end in zip(self._begins, self._ends, strict=True))


def _select(chosen: HostSpans | DeviceWork, whole: HostSpans | DeviceWork, members: _Members) -> None:
    for into, column in zip(chosen.all_columns, whole.all_columns, strict=True):
        for part in members.of(column):
            into.extend(part)
