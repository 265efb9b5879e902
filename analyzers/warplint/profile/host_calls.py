"""What the host asked of the GPU in one window: each call with its line, its phase and what it started."""

from __future__ import annotations

from itertools import repeat

from warplint.profile.calls import CallKind, call_kind
from warplint.profile.charge import Charger, Phase
from warplint.profile.inner_lines import InnerLines
from warplint.profile.nesting import ThreadNesting, by_thread, thread_nestings
from warplint.profile.timeline import NOWHERE
from warplint.profile.trace import NONE, Trace


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
        self.called_from = [NOWHERE] * len(calls)
        """The place that each call was made from."""
        self.phases = [Phase.FORWARD] * len(calls)
        for thread, members in by_thread(calls, range(len(calls))).items():
            order = sorted(members, key=self.starts.__getitem__)
            times = list(map(self.starts.__getitem__, order))
            for call, place in zip(order, charger.places(thread, times), strict=True):
                self.called_from[call] = place
            for call, phase in zip(order, charger.phases(thread, times), strict=True):
                self.phases[call] = phase
        self.places = self.called_from if inner is None else self._within(inner)
        """Where each call counts: in a compiled region on the first statement of what it launched."""

    def named(self, kind: CallKind) -> frozenset[int]:
        """The names (numbers) of calls that have any of ``kind``."""
        return frozenset(name for name, each in self.kinds.items() if each & kind)

    def _within(self, inner: InnerLines) -> list[int]:
        return [(inner.of_call(call) or (place,))[0] for call, place in enumerate(self.called_from)]
