"""What the host asked of the GPU in one window: each call with its line, its phase and what it started."""

from __future__ import annotations

from collections import defaultdict
from itertools import repeat
from operator import itemgetter

from warplint.profile.attribution.charge import Charger, Phase
from warplint.profile.attribution.inner_lines import InnerLines
from warplint.profile.kineto.calls import CallKind, call_kind
from warplint.profile.kineto.nesting import ThreadNesting, thread_nestings
from warplint.profile.kineto.trace import NONE, Trace
from warplint.profile.timeline import NOWHERE

Call = tuple[int, int, int, int, int]
"""Index in ``Trace.calls``, name, thread, start and end."""


class HostCalls:
    """Columns beside those of ``trace.calls`` and ``trace.work``: found once, asked by all who count."""

    def __init__(
        self,
        trace: Trace,
        charger: Charger,
        inner: InnerLines | None = None,
        operators: dict[int, ThreadNesting] | None = None,
    ) -> None:
        """``inner``: the lines within compiled regions and captured graphs. ``operators`` are the trace's by
        thread, where they are known already."""
        calls, work = trace.calls, trace.work
        self.inner = inner
        self.operators = thread_nestings(trace.operators) if operators is None else operators
        self.starts: list[int] = calls.start.tolist()
        self.kinds = {name: call_kind(trace.text(name)) for name in set(calls.name)}
        """By number of a call's name."""
        call_of = dict(zip(calls.correlation, range(len(calls)), strict=True))
        started = set(work.correlation)
        # Work and calls that both lack a correlation have nothing to do with each other.
        call_of.pop(NONE, None)
        started.discard(NONE)
        self.call_of_work = list(map(call_of.get, work.correlation, repeat(NONE)))
        """The call that started each piece of GPU work, NONE where it is not recorded."""
        self.has_work = list(map(started.__contains__, calls.correlation))
        known = self.named(~CallKind.OTHER)
        columns = (range(len(calls)), calls.name, calls.thread, self.starts, calls.end)
        self.telling: list[Call] = [
            call
            for call, has_work in zip(zip(*columns, strict=True), self.has_work, strict=True)
            if has_work or call[1] in known
        ]
        """The calls that cost anything. Most only ask which device is in use, or record an event."""
        self.called_from = [NOWHERE] * len(calls)
        """The place that each of these was made from."""
        self.phases = [Phase.FORWARD] * len(calls)
        for thread, members in self._by_thread().items():
            times = [start for _, _, _, start, _ in members]
            places, phases = charger.places(thread, times), charger.phases(thread, times)
            for call, place, phase in zip(members, places, phases, strict=True):
                self.called_from[call[0]] = place
                self.phases[call[0]] = phase
        self.places = self.called_from if inner is None else self._within(inner)
        """Where each counts: in a compiled region on the first statement of what it launched."""

    def named(self, kind: CallKind) -> frozenset[int]:
        """The names (numbers) of calls that have any of ``kind``."""
        return frozenset(name for name, each in self.kinds.items() if each & kind)

    def launched_ns(self, trace: Trace) -> list[int]:
        """When each piece of GPU work was launched; when it began, where its call is not recorded."""
        # NONE is the last of the calls.
        starts = [*self.starts, NONE]
        return [
            start if call == NONE else starts[call]
            for call, start in zip(self.call_of_work, trace.work.start, strict=True)
        ]

    def _by_thread(self) -> dict[int, list[Call]]:
        """In the order of their starts."""
        threads: dict[int, list[Call]] = defaultdict(list)
        for call in self.telling:
            threads[call[2]].append(call)
        return {thread: sorted(each, key=itemgetter(3)) for thread, each in threads.items()}

    def _within(self, inner: InnerLines) -> list[int]:
        return [(inner.of_call(call) or (place,))[0] for call, place in enumerate(self.called_from)]
