"""Where the host was held up, and by what: the cost that a line feels, beside the cost that it causes.

The host is the stepping thread, and autograd's threads. It is held up inside a call that waits for the
device, inside a copy that blocks, inside an allocation, inside a launch while the queue of launches is full,
and inside a DataLoader's ``__next__``. What kept it there is the GPU work that ran meanwhile the longest.
"""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.host_calls import HostCalls
from warplint.profile.kineto.calls import DATA_LOADING, STARTS_GPU_WORK, CallKind
from warplint.profile.kineto.nesting import Intervals
from warplint.profile.kineto.trace import Trace, spans_named
from warplint.profile.sections.felt_costs import FeltPart, FeltWait
from warplint.profile.steps.ends import StepRange
from warplint.profile.timeline import Timeline

QUEUE_FULL = "Command Buffer Full"
"""CUPTI's record of a call that waited for room in the queue of launches (``cat overhead``)."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a call that usually returns at once was held up."""

    blocked_copy_ns: int = 50_000
    """An asynchronous copy that took longer. To enqueue one takes 5 to 20 µs (bench/results/h200)."""
    full_queue: int = 1_000
    """Launches that the GPU has not finished. The queue of an H200 takes 1,000 to 1,024: with fewer a launch
    takes 7 µs, from there on as long as the kernel that must end first."""
    full_queue_times: float = 5.0
    """How many times the median of launches into a queue with room such a launch must take."""


THRESHOLDS = Thresholds()
MAX_WAITS = 100
"""Records of a profile, by falling time: lines that hold the host up are few."""

Interval = tuple[int, int]
Line = tuple[str, int]
"""File and line, as in ``LineCost``."""


@dataclass(slots=True)
class Felt:
    """What held the host up at one line for one reason."""

    ns: int = 0
    count: int = 0
    behind: dict[tuple[Line | None, str], int] = field(default_factory=lambda: defaultdict(int))
    """GPU work that ran meanwhile, by the line that caused it and its name: nanoseconds."""

    def cause(self) -> tuple[Line | None, str]:
        """The line whose work it waited for longest, and of that work the name that took longest."""
        lines: dict[Line | None, int] = defaultdict(int)
        for (line, _), ns in self.behind.items():
            lines[line] += ns
        longest = max(lines, key=lambda each: lines[each], default=None)
        names = {name: ns for (line, name), ns in self.behind.items() if line == longest}
        return longest, max(names, key=lambda each: names[each], default="")


@dataclass(slots=True)
class FeltTally:
    """By line, None for what reached none, and part."""

    by_line: dict[tuple[Line | None, FeltPart], Felt] = field(default_factory=lambda: defaultdict(Felt))

    def add(self, other: FeltTally) -> None:
        for key, theirs in other.by_line.items():
            mine = self.by_line[key]
            mine.ns += theirs.ns
            mine.count += theirs.count
            for cause, ns in theirs.behind.items():
                mine.behind[cause] += ns

    def add_calls(
        self,
        trace: Trace,
        charger: Charger,
        host: HostCalls,
        steps: StepRange,
        line_of: Callable[[int], Line | None],
        line_of_work: Callable[[int], Line | None],
    ) -> None:
        """Calls that held the host up, of those that began within ``steps``; within ``__next__`` they are
        part of the wait for data. ``line_of`` is of a place."""
        running, loading = _Running(trace), _loading(trace, charger.stepping_thread, steps)
        for call, part, (start, end) in _held_up_calls(trace, charger, host):
            began = trace.calls.start[call]
            in_loader = trace.calls.thread[call] == charger.stepping_thread and loading.contains(began)
            if in_loader or not steps.holds(began):
                continue
            felt = self.by_line[line_of(host.places[call]), part]
            felt.ns += end - start
            felt.count += 1
            for work, overlap in running.during(start, end):
                felt.behind[line_of_work(work), trace.text(trace.work.name[work])] += overlap

    def add_data(
        self,
        trace: Trace,
        timeline: Timeline,
        stepping_thread: int,
        steps: StepRange,
        line_of: Callable[[int], Line | None],
    ) -> None:
        """The stepping thread's waits for data within ``steps``."""
        for place, ns, count in data_waits(trace, timeline, stepping_thread, steps):
            felt = self.by_line[line_of(place), FeltPart.DATA]
            felt.ns += ns
            felt.count += count

    def ns_of(self, line: Line | None) -> dict[FeltPart, int]:
        return {part: self.by_line[line, part].ns for part in FeltPart if (line, part) in self.by_line}

    @property
    def total_ns(self) -> int:
        return sum(felt.ns for felt in self.by_line.values())

    @property
    def data_ns(self) -> int:
        return sum(felt.ns for (_, part), felt in self.by_line.items() if part is FeltPart.DATA)

    def waits(self, loader: Line | None) -> list[FeltWait]:
        """By falling time. ``loader`` is the dearest line of the workers, which waits for data wait for."""
        found = []
        for (line, part), felt in self.by_line.items():
            if line is None or not felt.ns:
                continue
            cause, name = (loader, "") if part is FeltPart.DATA else felt.cause()
            file, number = cause or ("", 0)
            found.append(FeltWait(*line, part.value, felt.ns / 1000, felt.count, file, number, name))
        return sorted(found, key=lambda wait: (-wait.us, wait.file, wait.line))[:MAX_WAITS]


def data_waits(
    trace: Trace, timeline: Timeline, stepping_thread: int, steps: StepRange
) -> Iterator[tuple[int, int, int]]:
    """Of the stepping thread's time in ``__next__`` within ``steps``: place, nanoseconds, how often it
    began."""
    lines = timeline.thread(stepping_thread)
    for start, end in _loading(trace, stepping_thread, steps):
        for position, (left, right, place) in enumerate(lines.spans(start, end)):
            yield place, right - left, int(position == 0)


def _loading(trace: Trace, stepping_thread: int, steps: StepRange) -> Intervals:
    """When the stepping thread was in a loader's ``__next__``."""
    annotations = trace.annotations
    return Intervals(
        (max(annotations.start[span], steps.begin_ns), min(annotations.end[span], steps.end_ns))
        for span in spans_named(trace, annotations, (DATA_LOADING,))
        if annotations.thread[span] == stepping_thread
    )


def _held_up_calls(
    trace: Trace, charger: Charger, host: HostCalls
) -> Iterator[tuple[int, FeltPart, Interval]]:
    threads = charger.backward_threads | {charger.stepping_thread}
    copying, waiting, allocating, starting = map(
        host.named, (CallKind.COPY, CallKind.WAIT, CallKind.ALLOC, STARTS_GPU_WORK)
    )
    queue = _FullQueue(trace, host)
    telling = copying | waiting | allocating | (starting if queue.ever_full else frozenset())
    for call, name, thread, start, end in host.telling:
        if name not in telling or thread not in threads:
            continue
        full = queue.within(call) if name in starting else None
        if name in waiting:
            yield call, FeltPart.COPY if name in copying else FeltPart.SYNC, (start, end)
        elif full is not None:
            yield call, FeltPart.QUEUE, full
        elif name in copying and end - start > THRESHOLDS.blocked_copy_ns:
            yield call, FeltPart.COPY, (start, end)
        elif name in allocating:
            yield call, FeltPart.ALLOC, (start, end)


class _FullQueue:
    """Which launches waited for room in the queue. CUPTI says so; where it does not, two signs together
    do."""

    def __init__(self, trace: Trace, host: HostCalls) -> None:
        self._calls = trace.calls
        overheads = trace.overheads
        self._recorded = Intervals(
            (overheads.start[span], overheads.end[span])
            for span in spans_named(trace, overheads, (QUEUE_FULL,))
        )
        self._inferred = {} if self._recorded.starts else _inferred_full(trace, host)

    @property
    def ever_full(self) -> bool:
        return bool(self._recorded.starts or self._inferred)

    def within(self, call: int) -> Interval | None:
        """When that launch was held up; None when it was not."""
        if not self._recorded.starts:
            return self._inferred.get(call)
        parts = list(self._recorded.overlapping(self._calls.start[call], self._calls.end[call]))
        return (parts[0][0], parts[-1][1]) if parts else None


def _inferred_full(trace: Trace, host: HostCalls) -> dict[int, Interval]:
    """Launches that took many times the median while the GPU had a queue's worth left to do."""
    calls, launching = trace.calls, host.named(CallKind.LAUNCH)
    begun = sorted(itertools.compress(host.starts, host.has_work))
    ends = sorted(trace.work.end)
    if not _ever_deep(begun, ends):
        return {}
    launches = sorted(
        (start, call) for call, name, _, start, _ in host.telling if name in launching and host.has_work[call]
    )
    deep = {
        call
        for start, call in launches
        if bisect.bisect_left(begun, start) - bisect.bisect_right(ends, start) >= THRESHOLDS.full_queue
    }
    if not deep:
        return {}
    quick: dict[int, list[int]] = defaultdict(list)
    for start, call in launches:
        if call not in deep:
            quick[calls.name[call]].append(calls.end[call] - start)
    usual = {name: round(statistics.median(lengths)) for name, lengths in quick.items()}
    found = {}
    for call in sorted(deep):
        length, median = calls.end[call] - calls.start[call], usual.get(calls.name[call])
        if median is not None and length > THRESHOLDS.full_queue_times * median:
            found[call] = (calls.start[call] + median, calls.end[call])
    return found


def _ever_deep(begun: list[int], ends: list[int]) -> bool:
    """Whether there may ever have been a queue's worth of launches that the GPU had not finished.

    Each launch adds one, so that to look at some of them tells of those between. Both are sorted.
    """
    stride = THRESHOLDS.full_queue // 4
    return any(
        launched + stride - bisect.bisect_right(ends, begun[launched]) >= THRESHOLDS.full_queue
        for launched in range(0, len(begun), stride)
    )


class _Running:
    """What the GPU was doing at a time."""

    def __init__(self, trace: Trace) -> None:
        work = trace.work
        ran = sorted(zip(work.start, range(len(work)), work.end, strict=True))
        self._order = [index for _, index, _ in ran]
        self._starts = [start for start, _, _ in ran]
        self._ends = [end for _, _, end in ran]
        self._latest_ends = list(itertools.accumulate(self._ends, max))

    def during(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Work that ran within ``[start, end)``, and for how long."""
        position = bisect.bisect_left(self._starts, end) - 1
        while position >= 0 and self._latest_ends[position] > start:
            overlap = min(end, self._ends[position]) - max(start, self._starts[position])
            if overlap > 0:
                yield self._order[position], overlap
            position -= 1
