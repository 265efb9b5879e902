"""The kernels of replayed CUDA graphs, on the lines that captured them.

A replay is one host call, whose kernels all carry its correlation. On one stream they run in the order in
which they were captured, so the n-th piece of work of a replay is the n-th launch within the capture. That is
taken to hold where the capture has as many launches as the replay has pieces of work, each of the same kind
(kernel, copy, fill), and waits for no other stream; else all stays on the line that replays. A graph may do
a copy or fill within the device's memory by a kernel, as it does on an H200.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warplint.profile.attribution.charge import Charger, Phase
from warplint.profile.kineto.calls import CallKind, call_kind
from warplint.profile.kineto.trace import Trace, WorkKind
from warplint.profile.timeline import NOWHERE

WAITS_FOR_STREAM = ("cudaStreamWaitEvent", "cuStreamWaitEvent", "hipStreamWaitEvent")
GRAPH_LAUNCH = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch")
WORK_KINDS = (
    (CallKind.LAUNCH, WorkKind.KERNEL),
    (CallKind.COPY, WorkKind.COPY),
    (CallKind.FILL, WorkKind.FILL),
)


@dataclass(frozen=True, slots=True)
class CapturedLaunch:
    """A launch that became part of a graph."""

    kind: WorkKind
    place: int
    phase: Phase


def captured_launches(
    trace: Trace, charger: Charger, begin_ns: int, end_ns: int
) -> list[CapturedLaunch] | None:
    """What was captured between the two times, in order; None where other streams are part of it.

    ``trace`` must already have the timeline's times. What ran at once, as torch's own preparations do, has a
    record of its own, and is no part of the graph.
    """
    calls, names = trace.calls, trace.names.texts
    ran = set(trace.work.correlation)
    within = [call for call in range(len(calls)) if begin_ns <= calls.start[call] < end_ns]
    found = []
    for call in sorted(within, key=lambda call: calls.start[call]):
        name = names[calls.name[call]]
        if name.startswith(WAITS_FOR_STREAM):
            return None
        kind = _work_kind(name)
        if kind is not None and calls.correlation[call] not in ran:
            thread, start = calls.thread[call], calls.start[call]
            found.append(CapturedLaunch(kind, charger.place(thread, start), charger.phase(thread, start)))
    return found


class ReplayedLines:
    """Answers for one window."""

    def __init__(
        self,
        trace: Trace,
        replays: Sequence[tuple[int, int]],
        captured: dict[int, list[CapturedLaunch] | None],
    ) -> None:
        """``replays`` are (t_ns, graph) in order; ``captured`` is by graph, None where it cannot be told."""
        self._trace = trace
        self._replays = sorted(replays)
        self._of_work: dict[int, CapturedLaunch] = {}
        self.unknown = 0
        """Replays whose kernels could not be told apart."""
        for call, work in self._launches():
            self._take(captured.get(self._graph_at(trace.calls.start[call])), work)

    def of_work(self, work: int) -> CapturedLaunch | None:
        """The captured launch that a piece of GPU work is a replay of, if it has a place."""
        return self._of_work.get(work)

    def _take(self, launches: list[CapturedLaunch] | None, work: list[int]) -> None:
        kinds = [self._trace.work.kind[each] for each in work]
        if launches is None or not _match([launch.kind for launch in launches], kinds):
            self.unknown += 1
            return
        for each, launch in zip(work, launches, strict=True):
            if launch.place != NOWHERE:
                self._of_work[each] = launch

    def _graph_at(self, t_ns: int) -> int:
        index = bisect.bisect_right(self._replays, (t_ns, 1 << 62)) - 1
        return self._replays[index][1] if index >= 0 else 0

    def _launches(self) -> Iterator[tuple[int, list[int]]]:
        """Each call that replays a graph, with its work in the order in which it ran."""
        calls, work = self._trace.calls, self._trace.work
        graph_launches = {
            calls.correlation[call]: call
            for call in range(len(calls))
            if self._trace.text(calls.name[call]).startswith(GRAPH_LAUNCH)
        }
        started: dict[int, list[int]] = defaultdict(list)
        for index, correlation in enumerate(work.correlation):
            if correlation in graph_launches:
                started[correlation].append(index)
        for correlation, members in started.items():
            yield graph_launches[correlation], sorted(members, key=lambda index: work.start[index])


def _match(captured: Sequence[int], replayed: Sequence[int]) -> bool:
    return len(captured) == len(replayed) and all(
        kind in (launched, WorkKind.KERNEL) for launched, kind in zip(captured, replayed, strict=True)
    )


def _work_kind(name: str) -> WorkKind | None:
    kind = call_kind(name)
    return next((work for call, work in WORK_KINDS if kind & call), None)
