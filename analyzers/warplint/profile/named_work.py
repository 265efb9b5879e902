"""What ran in the captured steps by name: layers, groups of kernels, clusters of tiny copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from warplint.profile.calls import STARTS_GPU_WORK, CallKind, is_transfer, numbers_of_kind
from warplint.profile.charge import Charger, Phase
from warplint.profile.groups import GroupTally, Ran, overlapping, step_of
from warplint.profile.layers import OUTSIDE, LayersTally, LayerTimeline
from warplint.profile.steps import StepRange
from warplint.profile.tiny_copies import TINY_BYTES, CopyTally, direction_and_memory
from warplint.profile.trace import NONE, Trace, WorkKind

LineKey = tuple[str, int]
LineOf = Callable[[int], LineKey | None]
"""A host call to the line that it is charged to."""


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
    trace: Trace, charger: Charger, steps: StepRange, layers: LayerTimeline | None, line_of: LineOf
) -> NamedWork:
    """Name the work of one window that the host started within ``steps``."""
    named = NamedWork() if layers is None else NamedWork(layers.tally(steps.begin_ns, steps.end_ns))
    _Naming(trace, charger, steps, layers, line_of).add_to(named)
    return named


@dataclass(frozen=True, slots=True)
class _Started:
    """A piece of GPU work, and the host call that started it; -1 where that is not recorded."""

    work: int
    call: int
    time: int


class _Naming:
    """Goes through one window's work."""

    def __init__(
        self,
        trace: Trace,
        charger: Charger,
        steps: StepRange,
        layers: LayerTimeline | None,
        line_of: LineOf,
    ) -> None:
        self.trace, self.charger, self.steps, self.layers, self.line_of = (
            trace,
            charger,
            steps,
            layers,
            line_of,
        )

    def add_to(self, named: NamedWork) -> None:
        work = self.trace.work
        started = list(self._started())
        self._add_kernels(started, named.groups)
        if self.layers is not None:
            self._add_layers(started, self.layers, named.layers)
        self._add_copies(
            [each for each in started if work.kind[each.work] == WorkKind.COPY and each.call >= 0],
            named.copies,
        )

    def _started(self) -> Iterator[_Started]:
        """In the order of the host's calls, as far as they are known."""
        work, calls = self.trace.work, self.trace.calls
        call_of = {number: call for call, number in enumerate(calls.correlation) if number != NONE}
        found = []
        for index in range(len(work)):
            call = call_of.get(work.correlation[index], -1)
            time = work.start[index] if call < 0 else calls.start[call]
            if self.steps.holds(time):
                found.append(_Started(index, call, time))
        # The kernels of a graph have one launch: they follow each other by their own times.
        found.sort(key=lambda each: (each.time, work.start[each.work]))
        return iter(found)

    def _add_kernels(self, started: list[_Started], groups: GroupTally) -> None:
        work = self.trace.work
        beside = overlapping(work.start, work.end, work.device)
        ran: dict[int, Ran] = {}
        for each in started:
            if work.kind[each.work] == WorkKind.KERNEL:
                name, length = work.name[each.work], work.end[each.work] - work.start[each.work]
                step = step_of(each.time, self.steps.boundaries_ns)
                ran.setdefault(name, Ran()).add(step, length, bool(beside[each.work]))
        for name, runs in ran.items():
            groups.ran[self.trace.text(name)].append(runs)

    def _add_layers(self, started: list[_Started], layers: LayerTimeline, tally: LayersTally) -> None:
        work, calls = self.trace.work, self.trace.calls
        launched: set[int] = set()
        for each in started:
            if each.call < 0:
                continue
            number, phase = self._layer(layers, calls.thread[each.call], each.time)
            if number == OUTSIDE:
                continue
            layer = layers.named(number)
            tally.launched(layer, phase, work.end[each.work] - work.start[each.work])
            if work.kind[each.work] == WorkKind.KERNEL and each.call not in launched:
                launched.add(each.call)
                tally.of(layer).launches += 1

    def _layer(self, layers: LayerTimeline, thread: int, time: int) -> tuple[int, Phase]:
        """A layer that is called again in backward, for its own recomputation, counts before who made the
        node."""
        phase = self.charger.phase(thread, time)
        own = layers.at(thread, time)
        if phase is not Phase.BACKWARD:
            return own, phase
        origin = self.charger.origin(thread, time)
        # A backward called inside a module's forward finds that module's call round everything.
        recomputed = own != OUTSIDE and own != layers.at(thread, self.charger.node_start(thread, time))
        return (own if recomputed else layers.at(*origin)), phase

    def _add_copies(self, started: list[_Started], copies: CopyTally) -> None:
        trace, work = self.trace, self.trace.work
        tiny = [
            each
            for each in started
            if work.bytes[each.work] < TINY_BYTES and is_transfer(trace.text(work.name[each.work]))
        ]
        waits = self._waits_after({each.call for each in tiny})
        for each in tiny:
            line = self.line_of(each.call)
            if line is None:
                continue
            direction, memory = direction_and_memory(trace.text(work.name[each.work]))
            file, number = line
            cluster = copies.clusters[file, number, direction, memory]
            cluster.count += 1
            cluster.bytes += work.bytes[each.work]
            cluster.ns += work.end[each.work] - work.start[each.work]
            wait = waits.get(each.call)
            if wait is not None and self.line_of(wait) == line:
                cluster.wait_ns += trace.calls.end[wait] - trace.calls.start[wait]

    def _waits_after(self, copies: set[int]) -> dict[int, int]:
        """For each of these calls the wait that is the next thing its thread asks of the GPU, or itself."""
        calls, texts = self.trace.calls, self.trace.names.texts
        waiting = numbers_of_kind(texts, CallKind.WAIT)
        copying = numbers_of_kind(texts, CallKind.COPY)
        starting = numbers_of_kind(texts, STARTS_GPU_WORK)
        last: dict[int, int] = {}
        found: dict[int, int] = {}
        for call in sorted(range(len(calls)), key=calls.start.__getitem__):
            name, thread = calls.name[call], calls.thread[call]
            if name in waiting:
                before = last.pop(thread, None)
                if name in copying:
                    before = call
                if before is not None and before in copies:
                    found[before] = call
            elif name in starting:
                last[thread] = call
        return found
