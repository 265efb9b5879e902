"""Maps a trace's clock to ``perf_counter_ns``, which the line timeline is stamped with.

Two sources, the first preferred. Capture reads both of the host's clocks together (``Pair``), and Kineto's
times are Unix times (``ts`` + ``baseTimeNanoseconds``): good to well under a microsecond. Failing that, the
markers: records that capture made inside the trace between two stamps. Entering a record takes ten times as
long as leaving it (measured: 130 µs and 12), so a marker's *end* is matched with the stamp after it.

The markers check either fit: a mapped marker must lie between its stamps, and by how much one does not is
``Clock.violation_us``.
"""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from warplint.profile.kineto.calls import MARKER
from warplint.profile.kineto.trace import HostSpans, Trace, spans_named

# Two clocks of one machine drift by less than this; a steeper fit is noise of readings too close together.
MAX_DRIFT = 1e-3

INTERRUPTED = 4
"""A reading that took so many times longer than the quickest was interrupted, and tells nothing."""


class ClockError(Exception):
    """Nothing ties the trace to the line timeline."""


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker: its record in trace time, and the host's stamps before and after it."""

    start_ns: int
    end_ns: int
    before_ns: int
    after_ns: int


@dataclass(frozen=True, slots=True)
class Pair:
    """One instant on both clocks."""

    trace_ns: int
    host_ns: int


@dataclass(frozen=True, slots=True)
class Clock:
    """``host = host_origin + (trace - trace_origin) * (1 + drift)``."""

    trace_origin_ns: int
    host_origin_ns: int
    drift: float
    residual_us: float = 0.0
    """Median distance of the readings from the fitted line."""
    violation_us: float = 0.0
    """How far the worst marker lies outside its stamps."""

    def host_ns(self, trace_ns: int) -> int:
        elapsed = trace_ns - self.trace_origin_ns
        return self.host_origin_ns + elapsed + round(elapsed * self.drift)

    def apply(self, trace: Trace) -> None:
        """Turn every time of a trace, once, into ``perf_counter_ns``."""
        host_ns = self.host_ns
        for columns in (trace.operators, trace.calls, trace.annotations, trace.overheads, trace.work):
            columns.start = array("q", map(host_ns, columns.start))
            columns.end = array("q", map(host_ns, columns.end))
        for ends in (trace.arrows.forward, trace.arrows.backward):
            for flow, (thread, time) in ends.items():
                ends[flow] = (thread, host_ns(time))


def find_markers(trace: Trace, stamps: Sequence[tuple[int, int, int]]) -> list[Marker]:
    """Pair the trace's marker records with capture's stamps ``(name_index, before_ns, after_ns)``."""
    by_index = {index: (before, after) for index, before, after in stamps}
    found: list[Marker] = []
    kinds: tuple[HostSpans, HostSpans] = (trace.annotations, trace.operators)
    for spans in kinds:
        for span in spans_named(trace, spans, (MARKER,)):
            suffix = trace.text(spans.name[span]).removeprefix(MARKER)
            if suffix.isdecimal() and int(suffix) in by_index:
                found.append(Marker(spans.start[span], spans.end[span], *by_index[int(suffix)]))
    return sorted(found, key=lambda marker: marker.end_ns)


def unix_pairs(trace: Trace, readings: Sequence[tuple[int, int, int]]) -> list[Pair]:
    """Capture's ``(perf_before_ns, unix_ns, perf_after_ns)`` as instants on trace and host clock."""
    if not trace.base_ns or not readings:
        return []
    origin_ns = trace.base_ns + trace.origin_us * 1000
    narrowest = min(after - before for before, _, after in readings)
    return [
        Pair(unix - origin_ns, (before + after) // 2)
        for before, unix, after in readings
        if after - before <= INTERRUPTED * narrowest
    ]


def fit_clock(pairs: Sequence[Pair], markers: Sequence[Marker]) -> Clock:
    """Fit the map. Raises ClockError when there is neither a pair nor a marker."""
    readings = list(pairs) or [Pair(marker.end_ns, marker.after_ns) for marker in markers]
    if not readings:
        raise ClockError("the trace holds none of the capture's clock readings")
    readings.sort(key=lambda pair: pair.trace_ns)
    origin, drift = readings[0].trace_ns, _drift(readings)
    offsets = [pair.host_ns - round((pair.trace_ns - origin) * (1 + drift)) for pair in readings]
    offset = round(statistics.median(offsets))
    clock = Clock(origin, offset, drift)
    residual_us = statistics.median(abs(each - offset) for each in offsets) / 1000
    violation_us = max((_outside(clock, marker) for marker in markers), default=0) / 1000
    return Clock(origin, offset, drift, residual_us, violation_us)


def _drift(readings: Sequence[Pair]) -> float:
    """The median slope over pairs of readings (Theil and Sen), less one: one late reading spoils nothing."""
    slopes = [
        (late.host_ns - early.host_ns) / (late.trace_ns - early.trace_ns) - 1
        for early, late in combinations(readings, 2)
        if late.trace_ns > early.trace_ns
    ]
    drift = statistics.median(slopes) if slopes else 0.0
    return drift if abs(drift) <= MAX_DRIFT else 0.0


def _outside(clock: Clock, marker: Marker) -> int:
    early = marker.before_ns - clock.host_ns(marker.start_ns)
    late = clock.host_ns(marker.end_ns) - marker.after_ns
    return max(0, early, late)
