"""A capture's timeline as Chrome's trace JSON, which https://ui.perfetto.dev and chrome://tracing open.

Slices on one track are nested or apart, never half over each other: viewers drop those. Format: "Trace Event
Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise

from warplint.profile.attribution.charge import Charger
from warplint.profile.imported.recording import Line, RecordedWindow, Recording
from warplint.profile.kineto.nesting import by_thread
from warplint.profile.kineto.trace import HostSpans, WorkKind
from warplint.profile.names.layers import OUTSIDE
from warplint.profile.names.signature import dtype, signature
from warplint.source.records import dataclass

HOST, FIRST_GPU = 1, 2
"""Process ids: viewers group tracks by process."""
STEPS = 1
"""The track of the steps, in the host's process."""
LINES, LAYERS, OPERATORS = range(3)
"""The tracks of a thread, in this order."""
TRACKS_OF_A_THREAD = 3
FIRST_THREAD = 10
"""The number of the first thread's first track."""
LANES_OF_A_STREAM = 100
"""Rows that a stream may need: kernels of a graph, and ones that start before the last has ended, overlap."""

Interval = tuple[int, int, str, dict[str, object]]
"""Start and end in nanoseconds, name and arguments."""


@dataclass(frozen=True, slots=True)
class Track:
    """A row: the process it belongs to, and its number there, by which rows are sorted."""

    process: int
    number: int


def render(recording: Recording) -> Iterator[str]:
    """The document, piece by piece."""
    yield '{"displayTimeUnit":"ms","traceEvents":[\n'
    before = ""
    for event in _events(recording):
        yield f"{before}{json.dumps(event, separators=(',', ':'))}"
        before = ",\n"
    yield "\n]}\n"


def _events(recording: Recording) -> Iterator[dict[str, object]]:
    zero_ns = min(_first_ns(window) for window in recording.windows)
    rows = _Rows(zero_ns)
    yield _name_of_process(HOST, f"host: {recording.process}")
    threads = _threads(recording)
    for window in recording.windows:
        yield from rows.draw(_steps(window), Track(HOST, STEPS), "steps")
        operators = _operators(window)
        for position, (thread, name) in enumerate(threads.items()):
            first = FIRST_THREAD + TRACKS_OF_A_THREAD * position
            yield from rows.draw(_lines(window, thread), Track(HOST, first + LINES), f"{name}: lines")
            yield from rows.draw(_layers(window, thread), Track(HOST, first + LAYERS), f"{name}: layers")
            inside = _nested(operators.get(thread, ()))
            yield from rows.draw(inside, Track(HOST, first + OPERATORS), f"{name}: operators and calls")
        yield from _work(window, {thread: position for position, thread in enumerate(threads)}, rows)


class _Rows:
    """Draws slices, and names each row before its first."""

    def __init__(self, zero_ns: int) -> None:
        self.zero_ns = zero_ns
        self._named: set[object] = set()

    def draw(self, intervals: Iterable[Interval], track: Track, name: str) -> Iterator[dict[str, object]]:
        for start, end, what, arguments in intervals:
            if track not in self._named:
                self._named.add(track)
                yield from _name_of_track(track, name)
            place = {"ph": "X", "name": what, "pid": track.process, "tid": track.number}
            event = {**place, "ts": self.us(start), "dur": (end - start) / 1000}
            yield {**event, "args": arguments} if arguments else event

    def name_process(self, process: int, name: str) -> Iterator[dict[str, object]]:
        if process not in self._named:
            self._named.add(process)
            yield _name_of_process(process, name)

    def us(self, ns: int) -> float:
        """Exact to the nanosecond for years from the first."""
        return (ns - self.zero_ns) / 1000


def _first_ns(window: RecordedWindow) -> int:
    """Kineto is on a little before a window counts as open."""
    trace = window.trace
    starts = (trace.annotations.start, trace.operators.start, trace.calls.start, trace.work.start)
    lines = [each.times[0] for each in window.timeline.threads.values() if each.times]
    return min([window.begin_ns, *lines, *(min(each) for each in starts if each)])


def _threads(recording: Recording) -> dict[int, str]:
    """What every thread is called of which something is known, the stepping ones first."""
    found = {
        window.stepping_thread: f"thread {window.stepping_thread} (steps)" for window in recording.windows
    }
    for window in recording.windows:
        spans = (window.trace.operators, window.trace.calls, window.trace.annotations)
        for thread in sorted({*window.timeline.threads, *(each for one in spans for each in one.thread)}):
            found.setdefault(thread, f"thread {thread}")
    return found


def _name_of_process(process: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}


def _name_of_track(track: Track, name: str) -> Iterator[dict[str, object]]:
    place = {"ph": "M", "pid": track.process, "tid": track.number}
    yield {**place, "name": "thread_name", "args": {"name": name}}
    yield {**place, "name": "thread_sort_index", "args": {"sort_index": track.number}}


def _steps(window: RecordedWindow) -> Iterator[Interval]:
    for number, (start, end) in enumerate(pairwise(window.boundaries_ns), 1):
        yield start, end, f"step {number}", {}


def _lines(window: RecordedWindow, thread: int) -> Iterator[Interval]:
    found = window.timeline.threads.get(thread)
    if found is None or not found.times:
        return
    # The last line ends with the window.
    for start, end, place in found.spans(found.times[0], max(window.end_ns, found.times[-1])):
        line = window.line_of(place)
        if line is not None:
            yield start, end, _line_name(line), {}


def _line_name(line: Line) -> str:
    file, number = line
    return f"{file}:{number}" if number else file


def _layers(window: RecordedWindow, thread: int) -> Iterator[Interval]:
    """Calls round the calls inside them, as they ended or were cut by the window."""
    found = window.layers.threads.get(thread) if window.layers is not None else None
    if found is None:
        return
    opened: list[tuple[int, int]] = []
    ended: list[Interval] = []
    last = max(window.end_ns, *found.times) if found.times else window.end_ns
    for time, layer in zip(found.times, found.starts, strict=True):
        if layer != OUTSIDE:
            opened.append((time, layer))
        elif opened:
            start, inner = opened.pop()
            ended.append((start, time, window.layer_name(inner), {}))
    ended.extend((start, last, window.layer_name(layer), {}) for start, layer in opened)
    yield from sorted(ended, key=lambda each: (each[0], -each[1]))


def _operators(window: RecordedWindow) -> dict[int, list[Interval]]:
    """Annotations, operators and calls of CUDA's by thread."""
    trace = window.trace
    groups: tuple[HostSpans, ...] = (trace.annotations, trace.operators, trace.calls)
    found: dict[int, list[Interval]] = {}
    for spans in groups:
        for thread, members in by_thread(spans, range(len(spans))).items():
            found.setdefault(thread, []).extend(
                (spans.start[index], spans.end[index], trace.text(spans.name[index]), {}) for index in members
            )
    return found


def _nested(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """By start, each within the one it began in: what outlasts that is cut at its end."""
    ends: list[int] = []
    for start, end, name, arguments in sorted(intervals, key=lambda each: (each[0], -each[1])):
        while ends and ends[-1] <= start:
            ends.pop()
        end = min(end, ends[-1]) if ends else end
        if end > start:
            ends.append(end)
            yield start, end, name, arguments


def _work(window: RecordedWindow, positions: dict[int, int], rows: _Rows) -> Iterator[dict[str, object]]:
    """What ran on the GPUs, a row for each stream, with arrows from the calls that started it."""
    trace, charger = window.trace, window.charger()
    work, calls = trace.work, trace.calls
    call_of = {correlation: call for call, correlation in enumerate(calls.correlation)}
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for index in sorted(range(len(work)), key=lambda index: (work.start[index], work.end[index])):
        start, end, device = work.start[index], work.end[index], work.device[index]
        stream = work.stream[index]
        lane = _lane(lanes.setdefault((device, stream), []), start, end)
        track = Track(FIRST_GPU + device, LANES_OF_A_STREAM * (stream + 1) + lane)
        model = trace.devices.get(device)
        yield from rows.name_process(track.process, f"GPU {device}" + (f": {model}" if model else ""))
        call = call_of.get(work.correlation[index])
        what = signature(trace.text(work.name[index])), _about(window, charger, index, call)
        name = f"stream {stream}" + (f", beside ({lane})" if lane else "")
        yield from rows.draw([(start, end, *what)], track, name)
        if call is not None and calls.end[call] > calls.start[call]:
            number = FIRST_THREAD + TRACKS_OF_A_THREAD * positions[calls.thread[call]] + OPERATORS
            yield from _arrow(Track(HOST, number), rows.us(calls.start[call]), track, rows.us(start))


def _lane(lanes: list[tuple[int, int]], start: int, end: int) -> int:
    """The first lane of a stream that is free; kernels of a graph may run beside each other on one stream.

    ``lanes`` is a heap of (lane's end, lane), so that a lane is chosen among all by its number only if free.
    """
    free: list[tuple[int, int]] = []
    while lanes and lanes[0][0] <= start:
        free.append(heapq.heappop(lanes))
    lane = min((number for _, number in free), default=len(lanes))
    for until, number in free:
        heapq.heappush(lanes, (end if number == lane else until, number))
    if not free:
        heapq.heappush(lanes, (end, lane))
    return lane


def _about(window: RecordedWindow, charger: Charger, index: int, call: int | None) -> dict[str, object]:
    trace = window.trace
    work, calls, name = trace.work, trace.calls, trace.text(trace.work.name[index])
    about: dict[str, object] = {}
    if name != signature(name):
        about["name"] = name
    if dtype(name):
        about["dtype"] = dtype(name)
    if work.kind[index] != WorkKind.KERNEL:
        about["bytes"] = work.bytes[index]
    if call is None:
        return about
    thread, time = calls.thread[call], calls.start[call]
    line = window.line_of(charger.place(thread, time))
    if line is not None:
        about["line"] = _line_name(line)
    about["phase"] = charger.phase(thread, time).name.lower()
    if window.layers is not None:
        layer = window.layers.at(*charger.origin(thread, time))
        if layer != OUTSIDE:
            about["layer"] = window.layer_name(layer)
    return about


def _arrow(begin: Track, begin_us: float, end: Track, end_us: float) -> Iterator[dict[str, object]]:
    """From the slice at its begin to the slice at its end."""
    flow = {"cat": "launch", "name": "launch", "id": f"{end.process}.{end.number}.{end_us}"}
    yield {"ph": "s", **flow, "pid": begin.process, "tid": begin.number, "ts": begin_us}
    yield {"ph": "f", "bp": "e", **flow, "pid": end.process, "tid": end.number, "ts": end_us}
