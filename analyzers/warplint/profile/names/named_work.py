"""What ran in the captured steps by name: layers, groups of kernels, clusters of tiny copies."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter

from warplint.profile.attribution.charge import Charger, Phase
from warplint.profile.attribution.host_calls import HostCalls
from warplint.profile.changes import counted
from warplint.profile.kineto.calls import STARTS_GPU_WORK, CallKind, is_transfer
from warplint.profile.kineto.trace import NONE, Trace, WorkKind
from warplint.profile.names.groups import GroupTally, Ran, overlapping
from warplint.profile.names.layers import OUTSIDE, LayersTally, LayerTimeline
from warplint.profile.names.tiny_copies import TINY_BYTES, CopyTally, direction_and_memory
from warplint.profile.steps.ends import StepRange

LineKey = tuple[str, int]
LineOf = Callable[[int], LineKey | None]
"""A place to the line that its cost is added to."""


@dataclass(slots=True)
class NamedWork:
    """Sums over windows."""

    layers: LayersTally = field(default_factory=LayersTally)
    groups: GroupTally = field(default_factory=GroupTally)
    copies: CopyTally = field(default_factory=CopyTally)

    def add(self, other: NamedWork) -> None:
        self.layers.add(other.layers)
        self.groups.add(other.groups)
        self.copies.add(other.copies)


def named_work(
    trace: Trace,
    charger: Charger,
    host: HostCalls,
    steps: StepRange,
    layers: LayerTimeline | None,
    line_of: LineOf,
) -> NamedWork:
    """Name the work of one window that the host started within ``steps``."""
    named = NamedWork() if layers is None else NamedWork(layers.tally(steps.begin_ns, steps.end_ns))
    _Naming(trace, charger, host, steps, line_of).add_to(named, layers)
    return named


class _Naming:
    """Goes through one window's work."""

    def __init__(
        self, trace: Trace, charger: Charger, host: HostCalls, steps: StepRange, line_of: LineOf
    ) -> None:
        self.trace, self.charger, self.host, self.steps, self.line_of = trace, charger, host, steps, line_of

    def add_to(self, named: NamedWork, layers: LayerTimeline | None) -> None:
        started = self._started()
        self._add_kernels(started, named.groups)
        if layers is not None:
            self._add_layers(started, layers, named.layers)
        self._add_copies([index for _, _, index in started], named.copies)

    def _started(self) -> list[tuple[int, int, int]]:
        """When the host started a piece of work, when it began, and its index; in the order of the host's
        calls, as far as they are known."""
        work = self.trace.work
        # NONE is the last of the calls.
        starts = [*self.host.starts, NONE]
        times = [
            start if call == NONE else starts[call]
            for call, start in zip(self.host.call_of_work, work.start, strict=True)
        ]
        begin, end = self.steps.begin_ns, self.steps.end_ns
        # The kernels of a graph have one launch: they follow each other by their own times.
        return sorted(
            [
                (time, start, index)
                for index, (time, start) in enumerate(zip(times, work.start, strict=True))
                if begin <= time < end
            ]
        )

    def _add_kernels(self, started: list[tuple[int, int, int]], groups: GroupTally) -> None:
        work, kernel = self.trace.work, int(WorkKind.KERNEL)
        beside = overlapping(work.start, work.end, work.device)
        steps = counted(self.steps.boundaries_ns)
        runs: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        numbers = steps.at_each([time for time, _, _ in started])
        kinds, names = work.kind, work.name
        for step, (_, _, index) in zip(numbers, started, strict=True):
            if kinds[index] == kernel:
                of_step, indices = runs[names[index]]
                of_step.append(step)
                indices.append(index)
        for name, (of_step, indices) in runs.items():
            lengths = [work.end[index] - work.start[index] for index in indices]
            ran = Ran(array("q", of_step), array("q", lengths), bytearray(map(beside.__getitem__, indices)))
            groups.ran[self.trace.text(name)].append(ran)

    def _add_layers(
        self, started: list[tuple[int, int, int]], layers: LayerTimeline, tally: LayersTally
    ) -> None:
        work = self.trace.work
        launched: set[int] = set()
        for time, _, index in started:
            call = self.host.call_of_work[index]
            if call == NONE:
                continue
            number, phase = self._layer(layers, call, time)
            if number == OUTSIDE:
                continue
            layer = layers.named(number)
            tally.launched(layer, phase, work.end[index] - work.start[index])
            if work.kind[index] == WorkKind.KERNEL and call not in launched:
                launched.add(call)
                tally.of(layer).launches += 1

    def _layer(self, layers: LayerTimeline, call: int, time: int) -> tuple[int, Phase]:
        """A layer that is called again in backward, for its own recomputation, counts before who made the
        node."""
        thread, phase = self.trace.calls.thread[call], self.host.phases[call]
        own = layers.at(thread, time)
        if phase is not Phase.BACKWARD:
            return own, phase
        origin = self.charger.origin(thread, time)
        # A backward called inside a module's forward finds that module's call round everything.
        recomputed = own != OUTSIDE and own != layers.at(thread, self.charger.node_start(thread, time))
        return (own if recomputed else layers.at(*origin)), phase

    def _add_copies(self, started: list[int], copies: CopyTally) -> None:
        trace, work, call_of_work = self.trace, self.trace.work, self.host.call_of_work
        copy = int(WorkKind.COPY)
        transfers = {name: is_transfer(trace.text(name)) for name in set(work.name)}
        tiny: dict[tuple[int, int], list[int]] = defaultdict(list)
        for index in started:
            if work.kind[index] == copy and work.bytes[index] < TINY_BYTES and call_of_work[index] != NONE:
                name = work.name[index]
                if transfers[name]:
                    tiny[self.host.places[call_of_work[index]], name].append(index)
        waits = self._waits_after({call_of_work[index] for members in tiny.values() for index in members})
        for (place, name), members in tiny.items():
            line = self.line_of(place)
            if line is None:
                continue
            direction, memory = direction_and_memory(trace.text(name))
            cluster = copies.clusters[line[0], line[1], direction, memory]
            cluster.count += len(members)
            cluster.bytes += sum(map(work.bytes.__getitem__, members))
            cluster.ns += sum(work.end[index] - work.start[index] for index in members)
            for index in members:
                wait = waits.get(call_of_work[index])
                if wait is not None and self.line_of(self.host.places[wait]) == line:
                    cluster.wait_ns += trace.calls.end[wait] - trace.calls.start[wait]

    def _waits_after(self, copies: set[int]) -> dict[int, int]:
        """For each of these calls the wait that is the next thing its thread asks of the GPU, or itself."""
        if not copies:
            return {}
        host = self.host
        waiting, copying, starting = map(host.named, (CallKind.WAIT, CallKind.COPY, STARTS_GPU_WORK))
        last: dict[int, int] = {}
        found: dict[int, int] = {}
        for call, name, thread, _, _ in sorted(host.telling, key=itemgetter(3)):
            if name in waiting:
                before = last.pop(thread, None)
                if name in copying:
                    before = call
                if before is not None and before in copies:
                    found[before] = call
            elif name in starting:
                last[thread] = call
        return found
