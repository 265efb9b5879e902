"""Why the GPU had nothing to do, and on which line the host was meanwhile.

The host is the stepping thread, and autograd's threads while it waits in a backward. A gap's every nanosecond
has one cause, the first of ``host_causes`` that some host thread was in then, and one line: a user's own line
on an autograd thread (a hook), else the stepping thread's. A gap whose next work had been launched before it
began is none of the host's: the GPU's own, charged to the line of that work.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from warplint.profile.calls import DATA_LOADING, STARTS_GPU_WORK, CallKind, numbers_of_kind
from warplint.profile.charge import Charger
from warplint.profile.model import IdleCause
from warplint.profile.nesting import Intervals, ThreadNesting, by_thread
from warplint.profile.timeline import NOWHERE, Timeline
from warplint.profile.trace import NONE, Trace, spans_named

Span = tuple[int, int, int]
"""(start, end, place)."""

OVERHEAD_CAUSES = (
    (IdleCause.WARMUP, ("Lazy Function Loading", "Runtime Triggered Module Loading", "Driver Compiler")),
    (IdleCause.CAPTURE, ("Activity Buffer Request", "Buffer Flush", "Instrumentation", "Resource")),
)
"""Causes that CUPTI records itself (``CUpti_ActivityOverheadKind``): the strongest of all but DATA."""
CALL_CAUSES = (
    (IdleCause.SYNC, CallKind.WAIT),
    (IdleCause.COPY, CallKind.COPY),
    (IdleCause.ALLOC, CallKind.ALLOC),
)
"""Causes that a kind of call shows, strongest first; LAUNCH and HOST come after them."""


def charge_idle(
    gaps: list[tuple[int, int]],
    trace: Trace,
    timeline: Timeline,
    charger: Charger,
    place_of_call: Callable[[int], int],
) -> dict[int, dict[IdleCause, int]]:
    """Nanoseconds of ``gaps`` by place and cause."""
    charged: dict[int, dict[IdleCause, int]] = defaultdict(lambda: defaultdict(int))
    if not gaps:
        return charged
    spans = host_spans(timeline, charger, gaps[0][0], gaps[-1][1])
    launched, left = _launched_before(gaps, trace)
    for (start, end), call in launched:
        charged[place_of_call(call)][IdleCause.DEVICE] += end - start
    for cause, intervals in host_causes(trace, charger):
        inside, left = cut(left, intervals)
        _charge(charged, cause, inside, spans)
    _charge(charged, IdleCause.HOST, left, spans)
    return charged


def _launched_before(
    gaps: list[tuple[int, int]], trace: Trace
) -> tuple[list[tuple[tuple[int, int], int]], list[tuple[int, int]]]:
    """Gaps whose next work was launched before they began, each with the call that did, and the other
    gaps."""
    calls, work = trace.calls, trace.work
    call_of = {correlation: call for call, correlation in enumerate(calls.correlation) if correlation != NONE}
    ends = {end for _, end in gaps}
    next_call: dict[int, int] = {}
    for index, start in enumerate(work.start):
        call = call_of.get(work.correlation[index]) if start in ends else None
        if call is not None and calls.end[call] <= calls.end[next_call.get(start, call)]:
            next_call[start] = call
    launched, left = [], []
    for start, end in gaps:
        call = next_call.get(end)
        if call is not None and calls.end[call] <= start:
            launched.append(((start, end), call))
        else:
            left.append((start, end))
    return launched, left


def host_causes(trace: Trace, charger: Charger) -> Iterator[tuple[IdleCause, Intervals]]:
    """When the host was in what, strongest cause first."""
    threads = charger.backward_threads | {charger.stepping_thread}
    annotations, calls = trace.annotations, trace.calls
    loading = spans_named(trace, annotations, (DATA_LOADING,))
    yield (
        IdleCause.DATA,
        Intervals(
            (annotations.start[span], annotations.end[span])
            for span in loading
            if annotations.thread[span] == charger.stepping_thread
        ),
    )
    overheads = trace.overheads
    for cause, prefixes in OVERHEAD_CAUSES:
        yield (
            cause,
            Intervals(
                (overheads.start[span], overheads.end[span])
                for span in spans_named(trace, overheads, prefixes)
            ),
        )
    for cause, kind in CALL_CAUSES:
        names = numbers_of_kind(trace.names.texts, kind)
        yield (
            cause,
            Intervals(
                (calls.start[index], calls.end[index])
                for index in range(len(calls))
                if calls.name[index] in names and calls.thread[index] in threads
            ),
        )
    yield IdleCause.LAUNCH, Intervals(_launching(trace, threads))


def _launching(trace: Trace, threads: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Launches, and the outermost operators that launch something; one on CPU tensors is host work."""
    calls, operators = trace.calls, trace.operators
    names = numbers_of_kind(trace.names.texts, STARTS_GPU_WORK)
    starts: dict[int, list[int]] = defaultdict(list)
    for index in range(len(calls)):
        if calls.name[index] in names and calls.thread[index] in threads:
            starts[calls.thread[index]].append(calls.start[index])
            yield calls.start[index], calls.end[index]
    for thread, members in by_thread(operators, range(len(operators))).items():
        launches = sorted(starts[thread])
        for span in ThreadNesting(operators, members).outermost():
            start, end = operators.start[span], operators.end[span]
            if bisect.bisect_left(launches, start) < bisect.bisect_left(launches, end):
                yield start, end


def host_spans(timeline: Timeline, charger: Charger, begin: int, end: int) -> list[Span]:
    """Where the host was, without a hole over ``[begin, end)``."""
    spans = list(timeline.thread(charger.stepping_thread).spans(begin, end))
    for thread in sorted(charger.backward_threads - {charger.stepping_thread}):
        own = [span for span in timeline.thread(thread).spans(begin, end) if span[2] != NOWHERE]
        spans = list(_overlay(spans, own))
    return spans


def _overlay(below: Iterable[Span], above: list[Span]) -> Iterator[Span]:
    """``below`` with ``above`` laid over it; both sorted and disjoint."""
    covered = Intervals((start, end) for start, end, _ in above)
    pieces = list(above)
    for start, end, place in below:
        _, outside = cut([(start, end)], covered)
        pieces.extend((left, right, place) for left, right in outside)
    return iter(sorted(pieces))


def cut(
    gaps: list[tuple[int, int]], intervals: Intervals
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The parts of sorted disjoint ``gaps`` inside and outside ``intervals``."""
    inside: list[tuple[int, int]] = []
    outside: list[tuple[int, int]] = []
    for start, end in gaps:
        for left, right in intervals.overlapping(start, end):
            if left > start:
                outside.append((start, left))
            inside.append((left, right))
            start = right
        if start < end:
            outside.append((start, end))
    return inside, outside


def _charge(
    charged: dict[int, dict[IdleCause, int]],
    cause: IdleCause,
    pieces: list[tuple[int, int]],
    spans: list[Span],
) -> None:
    position = 0
    for start, end in pieces:
        while spans[position][1] <= start:
            position += 1
        index = position
        while start < end:
            stop = min(end, spans[index][1])
            charged[spans[index][2]][cause] += stop - start
            start, index = stop, index + 1
