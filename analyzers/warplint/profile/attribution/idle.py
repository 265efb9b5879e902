"""Why the GPU had nothing to do, and on which line the host was meanwhile.

The host is the stepping thread, and autograd's threads while it waits in a backward. A gap's every nanosecond
has one cause, the first of ``host_causes`` that some host thread was in then, and one line: a user's own line
on an autograd thread (a hook), else the stepping thread's. A gap whose next work had been launched before it
began is none of the host's: the GPU's own, charged to the line of that work.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.host_calls import HostCalls
from warplint.profile.kineto.calls import DATA_LOADING, STARTS_GPU_WORK, CallKind
from warplint.profile.kineto.nesting import Intervals
from warplint.profile.kineto.trace import NONE, Trace, spans_named
from warplint.profile.model import IdleCause
from warplint.profile.timeline import NOWHERE, Timeline

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
    host: HostCalls,
) -> dict[int, dict[IdleCause, int]]:
    """Nanoseconds of ``gaps`` by place and cause."""
    charged: dict[int, dict[IdleCause, int]] = defaultdict(lambda: defaultdict(int))
    if not gaps:
        return charged
    spans = host_spans(timeline, charger, gaps[0][0], gaps[-1][1])
    launched, left = _launched_before(gaps, trace, host)
    for (start, end), call in launched:
        charged[host.places[call]][IdleCause.DEVICE] += end - start
    for cause, intervals in host_causes(trace, charger, host):
        inside, left = cut(left, intervals)
        _charge(charged, cause, inside, spans)
    _charge(charged, IdleCause.HOST, left, spans)
    return charged


def _launched_before(
    gaps: list[tuple[int, int]], trace: Trace, host: HostCalls
) -> tuple[list[tuple[tuple[int, int], int]], list[tuple[int, int]]]:
    """Gaps whose next work was launched before they began, each with the call that did, and the other
    gaps."""
    returned = trace.calls.end
    ends = {end for _, end in gaps}
    next_call: dict[int, int] = {}
    for start, call in zip(trace.work.start, host.call_of_work, strict=True):
        if start in ends and call != NONE and returned[call] <= returned[next_call.get(start, call)]:
            next_call[start] = call
    launched, left = [], []
    for gap in gaps:
        call = next_call.get(gap[1], NONE)
        if call != NONE and returned[call] <= gap[0]:
            launched.append((gap, call))
        else:
            left.append(gap)
    return launched, left


def host_causes(trace: Trace, charger: Charger, host: HostCalls) -> Iterator[tuple[IdleCause, Intervals]]:
    """When the host was in what, strongest cause first."""
    threads = charger.backward_threads | {charger.stepping_thread}
    annotations = trace.annotations
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
    kinds = [(cause, host.named(kind)) for cause, kind in CALL_CAUSES]
    launching = host.named(STARTS_GPU_WORK)
    telling = launching.union(*(names for _, names in kinds))
    told = [
        (name, thread, (start, end))
        for _, name, thread, start, end in host.telling
        if name in telling and thread in threads
    ]
    for cause, names in kinds:
        yield cause, Intervals([span for name, _, span in told if name in names])
    launches = [(thread, span) for name, thread, span in told if name in launching]
    yield IdleCause.LAUNCH, Intervals([*(span for _, span in launches), *_launching(launches, host)])


def _launching(launches: list[tuple[int, tuple[int, int]]], host: HostCalls) -> Iterator[tuple[int, int]]:
    """The outermost operators that launch something; one on CPU tensors is host work. ``launches`` are by
    thread."""
    starts: dict[int, list[int]] = defaultdict(list)
    for thread, span in launches:
        starts[thread].append(span[0])
    for thread, each in starts.items():
        ordered = [*sorted(each), math.inf]
        following = 0
        for start, end in host.operators[thread].outermost() if thread in host.operators else ():
            if ordered[following] < start:
                following = bisect.bisect_left(ordered, start, following)
            if ordered[following] < end:
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
        pieces.extend((left, right, place) for left, right in covered.outside(start, end))
    return iter(sorted(pieces))


def cut(
    gaps: list[tuple[int, int]], intervals: Intervals
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The parts of sorted disjoint ``gaps`` inside and outside ``intervals``."""
    if not intervals.starts:
        return [], gaps
    inside: list[tuple[int, int]] = []
    outside: list[tuple[int, int]] = []
    # A last interval after all of them ends the search.
    starts, ends = [*intervals.starts, math.inf], [*intervals.ends, math.inf]
    index = 0
    for gap in gaps:
        start, end = gap
        if ends[index] <= start:
            index = bisect.bisect_right(ends, start, index)
        if starts[index] >= end:
            outside.append(gap)
            continue
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
    if not pieces:
        return
    sums: dict[int, int] = defaultdict(int)
    remaining = iter(spans)
    _, until, place = next(remaining)
    for start, end in pieces:
        while until < end:
            if until > start:
                sums[place] += until - start
                start = until
            _, until, place = next(remaining)
        sums[place] += end - start
    for place, idle_ns in sums.items():
        charged[place][cause] += idle_ns
