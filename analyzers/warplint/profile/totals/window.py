"""What the steps of one window cost each line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from warplint.profile.attribution.busy import share_busy
from warplint.profile.attribution.charge import Charger, Phase
from warplint.profile.attribution.exposed import exposed_copies
from warplint.profile.attribution.host_calls import HostCalls
from warplint.profile.attribution.idle import charge_idle
from warplint.profile.attribution.owners import Owner, Owners
from warplint.profile.attribution.recompute import Recomputation
from warplint.profile.kineto.calls import CallKind, is_transfer
from warplint.profile.kineto.trace import NONE, Trace, WorkKind
from warplint.profile.names.layers import LayerTimeline
from warplint.profile.names.named_work import named_work
from warplint.profile.steps.ends import StepRange
from warplint.profile.steps.gpu_steps import GpuSteps
from warplint.profile.timeline import NOWHERE, Timeline
from warplint.profile.totals.tally import LineKey, LineTally, Tally

KeyOf = Callable[[int], LineKey | None]
"""Place to the line that its cost is added to."""


def tally_host(
    timeline: Timeline,
    stepping_thread: int,
    steps: StepRange,
    key_of: KeyOf,
) -> Tally:
    """The time the stepping thread stood on each line: all there is to say without a GPU."""
    tally = Tally(wall_ns=steps.end_ns - steps.begin_ns, steps=steps.steps)
    stood: dict[int, int] = defaultdict(int)
    for start, end, place in timeline.thread(stepping_thread).spans(steps.begin_ns, steps.end_ns):
        stood[place] += end - start
    for place, cpu_ns in stood.items():
        tally.lines[key_of(place)].cpu_ns += cpu_ns
    return tally


def tally_device(
    trace: Trace,
    timeline: Timeline,
    charger: Charger,
    host: HostCalls,
    steps: StepRange,
    key_of: KeyOf,
    layers: LayerTimeline | None = None,
    worked: GpuSteps | None = None,
) -> Tally:
    """What a window with a GPU cost. The trace's times must already be the timeline's.

    Busy and idle are the GPU's time within ``worked``, without which it is that of ``steps``. Launches,
    copies, waits and the plain sums of GPU time are of what the host started within ``steps``, so that each
    step counts its own work once, however far the GPU lags behind.
    """
    worked = worked or GpuSteps(steps.begin_ns, steps.end_ns)
    tally = tally_host(timeline, charger.stepping_thread, steps, key_of)
    tally.wall_ns = worked.length_ns
    costs = _WindowCosts(trace, host, steps, key_of, tally, Recomputation(trace, charger))
    costs.add_calls()
    costs.add_work()
    work = zip(trace.work.start, trace.work.end, costs.work_owners, strict=True)
    busy = share_busy(work, worked.begin_ns, worked.end_ns)
    for owner, busy_ns in busy.by_owner.items():
        for place, part_ns in costs.owners.divide(owner, busy_ns):
            tally.lines[key_of(place)].busy_ns += part_ns
    for place, causes in charge_idle(busy.gaps, trace, timeline, charger, host).items():
        for cause, idle_ns in causes.items():
            tally.lines[key_of(place)].idle_ns[cause] += idle_ns
    for owner, exposed_ns in exposed_copies(trace, worked, costs.work_owners).items():
        for place, part_ns in costs.owners.divide(owner, exposed_ns):
            tally.lines[key_of(place)].exposed_copy_ns += part_ns
    tally.felt.add_calls(trace, charger, host, steps, key_of, costs.line_of_work)
    tally.felt.add_data(trace, timeline, charger.stepping_thread, steps, key_of)
    tally.named = named_work(trace, charger, host, steps, layers, key_of)
    return tally


_Same = tuple[Owner, int, Phase, bool]
"""Owner, name, phase and whether it was computed again: work that is alike in these is added up first."""


class _WindowCosts:
    """Charges host calls and GPU work to lines."""

    def __init__(
        self,
        trace: Trace,
        host: HostCalls,
        steps: StepRange,
        key_of: KeyOf,
        tally: Tally,
        recomputation: Recomputation,
    ) -> None:
        self.recomputation = recomputation
        self.trace, self.host, self.steps, self.key_of, self.tally = trace, host, steps, key_of, tally
        self.inner = host.inner
        self.owners = Owners()
        self.work_owners = self._owners()
        """Who owns each piece of GPU work, in the trace's order."""

    def _owners(self) -> list[Owner]:
        places, inner = [*self.host.called_from, NOWHERE], self.inner
        # NONE is the last of the places.
        owners = list(map(places.__getitem__, self.host.call_of_work))
        if inner is not None:
            for work, owner in enumerate(owners):
                within = inner.of_work(work)
                owners[work] = self.owners.of(within) if within else owner
        return owners

    def add_calls(self) -> None:
        host, doubts = self.host, self.tally.doubts
        doubts.malformed_events += self.trace.malformed
        if self.inner is not None:
            doubts.unknown_compiled += self.inner.compiled.unknown
            doubts.unknown_replays += self.inner.replayed.unknown
        launching, waiting = host.named(CallKind.LAUNCH), host.named(CallKind.WAIT)
        known = host.named(~CallKind.OTHER)
        begin, end = self.steps.begin_ns, self.steps.end_ns
        inside = [
            (call, name, host.has_work[call], stop - start)
            for call, name, _, start, stop in host.telling
            if begin <= start < end
        ]
        # A call that we do not know launches what it started.
        launches = [
            (call, started)
            for call, name, started, _ in inside
            if name in launching or (started and name not in known)
        ]
        for place, count in Counter(host.places[call] for call, _ in launches).items():
            self.line_of(place).launches += count
        doubts.launches_without_kernel += sum(not started for _, started in launches)
        for call, name, _, length in inside:
            if name in waiting:
                line = self.line_of(host.places[call])
                line.waits += 1
                line.wait_ns += length

    def add_work(self) -> None:
        work, tally, host = self.trace.work, self.tally, self.host
        times = host.launched_ns(self.trace)
        begin, end = self.steps.begin_ns, self.steps.end_ns
        inside = [index for index, time in enumerate(times) if begin <= time < end]
        self._add_times(inside)
        kernel, copy = int(WorkKind.KERNEL), int(WorkKind.COPY)
        kernels = [index for index in inside if work.kind[index] == kernel]
        tally.kernels += len(kernels)
        tally.kernel_ns += sum(work.end[index] - work.start[index] for index in kernels)
        self._add_copies([index for index in inside if work.kind[index] == copy])
        doubts, calls = tally.doubts, host.call_of_work
        doubts.devices.update(map(work.device.__getitem__, inside))
        doubts.work_without_launch += sum(calls[index] == NONE for index in inside)
        doubts.work_before_launch += sum(
            work.start[index] < times[index] for index in inside if calls[index] != NONE
        )

    def _add_times(self, inside: list[int]) -> None:
        """Charge the time of these pieces of work to their lines."""
        work, owners = self.trace.work, self.work_owners
        phases, again = self._phases(), self._again()
        sums: dict[_Same, list[int]] = {}
        for index in inside:
            owner, length = owners[index], work.end[index] - work.start[index]
            same = owner, work.name[index], phases[index], again[index]
            if owner < 0:
                self._add_shared(same, length)
                continue
            found = sums.get(same)
            if found is None:
                found = sums[same] = [0, 0]
            found[0] += length
            found[1] += 1
        for (place, name, phase, computed_again), (length, count) in sums.items():
            self._add_time(self.line_of(place), name, phase, length, count, computed_again)

    def _add_time(
        self, line: LineTally, name: int, phase: Phase, length: int, count: int, again: bool
    ) -> None:
        text = self.trace.text(name)
        line.gpu_ns[phase] += length
        line.recompute_ns += length if again else 0
        line.kernel_ns[text] += length
        line.kernel_counts[text] += count

    def _add_shared(self, work: _Same, length: int) -> None:
        """Work that several places own."""
        owner, name, phase, again = work
        parts: dict[LineKey, int] = {}
        for place, part in self.owners.divide(owner, length):
            key = self.key_of(place)
            line = self.tally.lines[key]
            self._add_time(line, name, phase, part, 1, again)
            if key is not None:
                line.fused_ns += part
                parts[key] = parts.get(key, 0) + part
        if len(parts) > 1:
            self.tally.fused.add_run(self.trace.text(name), parts)

    def _add_copies(self, copies: list[int]) -> None:
        work = self.trace.work
        names = set(map(work.name.__getitem__, copies))
        transfers = {name for name in names if is_transfer(self.trace.text(name))}
        moved: dict[Owner, list[int]] = defaultdict(list)
        for index in copies:
            if work.name[index] in transfers:
                moved[self.work_owners[index]].append(work.bytes[index])
        for owner, sizes in moved.items():
            line = self.line_of(self.owners.places(owner)[0])
            line.copies += len(sizes)
            line.copy_bytes += sum(sizes)

    def _phases(self) -> list[Phase]:
        """Of each piece of work."""
        # NONE is the last.
        by_call = [*self.host.phases, Phase.FORWARD]
        phases = list(map(by_call.__getitem__, self.host.call_of_work))
        if self.inner is not None:
            for work, phase in enumerate(phases):
                captured = self.inner.phase(work)
                phases[work] = phase if captured is None else captured
        return phases

    def _again(self) -> list[bool]:
        """Of each piece of work whether it was computed again."""
        calls, holds = self.trace.calls, self.recomputation.holds
        if not self.recomputation.threads:
            return [False] * len(self.host.call_of_work)
        return [
            call != NONE and holds(calls.thread[call], calls.start[call]) for call in self.host.call_of_work
        ]

    def line_of_work(self, work: int) -> LineKey | None:
        """The first of the lines that own a piece of GPU work."""
        return self.key_of(self.owners.places(self.work_owners[work])[0])

    def line_of(self, place: int) -> LineTally:
        return self.tally.lines[self.key_of(place)]
