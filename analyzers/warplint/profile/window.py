"""What the steps of one window cost each line."""

from __future__ import annotations

from collections.abc import Callable

from warplint.profile.busy import share_busy
from warplint.profile.calls import CallKind, is_transfer, numbers_of_kind
from warplint.profile.charge import Charger, Phase
from warplint.profile.exposed import exposed_copies
from warplint.profile.idle import charge_idle
from warplint.profile.inner_lines import InnerLines
from warplint.profile.layers import LayerTimeline
from warplint.profile.named_work import named_work
from warplint.profile.owners import Owner, Owners
from warplint.profile.recompute import Recomputation
from warplint.profile.steps import StepRange
from warplint.profile.tally import LineKey, LineTally, Tally
from warplint.profile.timeline import NOWHERE, Timeline
from warplint.profile.trace import NONE, Trace, WorkKind

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
    for start, end, place in timeline.thread(stepping_thread).spans(steps.begin_ns, steps.end_ns):
        tally.lines[key_of(place)].cpu_ns += end - start
    return tally


def tally_device(
    trace: Trace,
    timeline: Timeline,
    charger: Charger,
    steps: StepRange,
    key_of: KeyOf,
    layers: LayerTimeline | None = None,
    inner: InnerLines | None = None,
) -> Tally:
    """What a window with a GPU cost. The trace's times must already be the timeline's.

    Busy and idle are the GPU's time within ``steps``. Launches, copies, waits and the plain sums of GPU time
    are of what the host started within them, so that each step counts its own work once, however far the
    GPU lags behind.
    """
    tally = tally_host(timeline, charger.stepping_thread, steps, key_of)
    costs = _WindowCosts(trace, charger, steps, key_of, tally, inner, Recomputation(trace, timeline, charger))
    costs.add_calls()
    costs.add_work()
    work = zip(trace.work.start, trace.work.end, costs.work_owners, strict=True)
    busy = share_busy(work, steps.begin_ns, steps.end_ns)
    for owner, busy_ns in busy.by_owner.items():
        for place, part_ns in costs.owners.divide(owner, busy_ns):
            tally.lines[key_of(place)].busy_ns += part_ns
    for place, causes in charge_idle(busy.gaps, trace, timeline, charger, costs.place_of_call).items():
        for cause, idle_ns in causes.items():
            tally.lines[key_of(place)].idle_ns[cause] += idle_ns
    for owner, exposed_ns in exposed_copies(trace, steps, costs.work_owners).items():
        for place, part_ns in costs.owners.divide(owner, exposed_ns):
            tally.lines[key_of(place)].exposed_copy_ns += part_ns
    tally.felt.add_calls(
        trace, charger, steps, lambda call: key_of(costs.place_of_call(call)), costs.line_of_work
    )
    tally.felt.add_data(trace, timeline, charger.stepping_thread, steps, key_of)
    tally.named = named_work(trace, charger, steps, layers, lambda call: key_of(costs.place_of_call(call)))
    return tally


class _WindowCosts:
    """Charges host calls and GPU work to lines by the correlation of the two."""

    def __init__(
        self,
        trace: Trace,
        charger: Charger,
        steps: StepRange,
        key_of: KeyOf,
        tally: Tally,
        inner: InnerLines | None,
        recomputation: Recomputation,
    ) -> None:
        self.recomputation = recomputation
        self.trace, self.charger, self.steps, self.key_of, self.tally = trace, charger, steps, key_of, tally
        self.inner = inner
        self.owners = Owners()
        self.transfers = [is_transfer(text) for text in trace.names.texts]
        self.call_of = {correlation: call for call, correlation in enumerate(trace.calls.correlation)}
        self.started = set(trace.work.correlation)
        # Work and calls that both lack a correlation have nothing to do with each other.
        self.call_of.pop(NONE, None)
        self.started.discard(NONE)
        self.work_owners: list[Owner] = []
        """Who owns each piece of GPU work, in the trace's order."""
        self._call_places: dict[int, int] = {}

    def add_calls(self) -> None:
        calls, doubts, texts = self.trace.calls, self.tally.doubts, self.trace.names.texts
        doubts.malformed_events += self.trace.malformed
        if self.inner is not None:
            doubts.unknown_compiled += self.inner.compiled.unknown
            doubts.unknown_replays += self.inner.replayed.unknown
        launching, waiting = (numbers_of_kind(texts, kind) for kind in (CallKind.LAUNCH, CallKind.WAIT))
        known = numbers_of_kind(texts, ~CallKind.OTHER)
        for call, name in enumerate(calls.name):
            started = calls.correlation[call] in self.started
            # A call that we do not know launches what it started.
            launches, waits = name in launching or (started and name not in known), name in waiting
            if not (launches or waits) or not self.steps.holds(calls.start[call]):
                continue
            line = self.line_of(self.place_of_call(call))
            line.launches += launches
            if waits:
                line.waits += 1
                line.wait_ns += calls.end[call] - calls.start[call]
            doubts.launches_without_kernel += launches and not started

    def add_work(self) -> None:
        for index in range(len(self.trace.work)):
            call = self.call_of.get(self.trace.work.correlation[index])
            owner = self._owner(index, call)
            self.work_owners.append(owner)
            self._add_one(index, call, owner)

    def _add_one(self, index: int, call: int | None, owner: Owner) -> None:
        work, calls, tally = self.trace.work, self.trace.calls, self.tally
        start = work.start[index] if call is None else calls.start[call]
        if not self.steps.holds(start):
            return
        length = work.end[index] - work.start[index]
        name = self.trace.text(work.name[index])
        phase = self._phase(index, call)
        again = call is not None and self.recomputation.holds(self.trace.calls.thread[call], start)
        line = self._add_time(owner, name, length, phase, again)
        if work.kind[index] == WorkKind.KERNEL:
            tally.kernels += 1
            tally.kernel_ns += length
        elif work.kind[index] == WorkKind.COPY and self.transfers[work.name[index]]:
            line.copies += 1
            line.copy_bytes += work.bytes[index]
        tally.doubts.devices.add(work.device[index])
        tally.doubts.work_without_launch += call is None
        tally.doubts.work_before_launch += call is not None and work.start[index] < start

    def _add_time(self, owner: Owner, name: str, length: int, phase: Phase, again: bool) -> LineTally:
        """Charge the time of one piece of work to its lines, computed ``again`` or not; the first of them."""
        parts: dict[LineKey, int] = {}
        lines = []
        for place, part in self.owners.divide(owner, length):
            key = self.key_of(place)
            line = self.tally.lines[key]
            lines.append(line)
            line.gpu_ns[phase] += part
            line.recompute_ns += part if again else 0
            line.kernel_ns[name] += part
            line.kernel_counts[name] += 1
            if owner < 0 and key is not None:
                line.fused_ns += part
                parts[key] = parts.get(key, 0) + part
        if len(parts) > 1:
            self.tally.fused.add_run(name, parts)
        return lines[0]

    def _owner(self, work: int, call: int | None) -> Owner:
        inner = () if self.inner is None else self.inner.of_work(work)
        if inner:
            return self.owners.of(inner)
        return NOWHERE if call is None else self._called_from(call)

    def line_of_work(self, work: int) -> LineKey | None:
        """The first of the lines that own a piece of GPU work."""
        return self.key_of(self.owners.places(self.work_owners[work])[0])

    def _phase(self, work: int, call: int | None) -> Phase:
        captured = None if self.inner is None else self.inner.phase(work)
        if captured is not None:
            return captured
        calls = self.trace.calls
        return Phase.FORWARD if call is None else self.charger.phase(calls.thread[call], calls.start[call])

    def line_of(self, place: int) -> LineTally:
        return self.tally.lines[self.key_of(place)]

    def place_of_call(self, call: int) -> int:
        """Where a call counts: in a compiled region on the first statement of what it launched."""
        inner = () if self.inner is None else self.inner.of_call(call)
        return inner[0] if inner else self._called_from(call)

    def _called_from(self, call: int) -> int:
        if call not in self._call_places:
            calls = self.trace.calls
            self._call_places[call] = self.charger.place(calls.thread[call], calls.start[call])
        return self._call_places[call]
