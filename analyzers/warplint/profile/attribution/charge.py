"""Which line of the user's source caused what a thread did at a time, and in which phase of the step.

A thread's own innermost user line, where it has one. Autograd's threads run no Python of the user's, so what
a backward node launches goes to the line that made the node in the forward pass:

1. a user's own line inside the node wins (hooks, a custom Function's backward, checkpoint's recomputation);
2. else the trace's fwdbwd arrow into the node;
3. else the node's (sequence number, forward thread): of the forward operators with that number the one that
   *starts last* made the node, because operators that make none carry the next one's number;
4. else the line the stepping thread is on, its ``.backward()``: AccumulateGrad, hooks and collectives.
"""

from __future__ import annotations

import bisect
import enum
import operator
from collections import defaultdict
from collections.abc import Sequence

from warplint.profile.kineto.calls import BACKWARD_NODE, OPTIMIZER
from warplint.profile.kineto.nesting import Intervals, ThreadNesting, by_thread
from warplint.profile.kineto.trace import NONE, HostSpans, Trace, spans_named
from warplint.profile.timeline import NOWHERE, Timeline


class Phase(enum.IntEnum):
    """The part of a step that launched something."""

    FORWARD = 0
    BACKWARD = 1
    OPTIMIZER = 2


_Maker = tuple[int, int]
"""Of a forward operator that carries a sequence number: start and thread."""


class Charger:
    """Answers for one window. The trace's times must already be the timeline's."""

    def __init__(self, trace: Trace, timeline: Timeline, stepping_thread: int) -> None:
        self._trace, self._timeline = trace, timeline
        self.stepping_thread = stepping_thread
        nodes = list(spans_named(trace, trace.operators, (BACKWARD_NODE,)))
        self._nodes = {
            thread: ThreadNesting(trace.operators, members).innermost
            for thread, members in by_thread(trace.operators, nodes).items()
        }
        self._optimizer = _intervals_by_thread(trace, trace.annotations, OPTIMIZER)
        self._arrow_starts, self._arrow_makers = self._arrows_by_thread()
        self._makers = self._makers_by_sequence(nodes)
        self._native_threads = self._forward_threads()
        self._node_places: dict[int, int] = {}

    @property
    def backward_threads(self) -> frozenset[int]:
        """The threads that ran backward nodes."""
        return frozenset(self._nodes)

    def place(self, thread: int, t_ns: int) -> int:
        """The place that caused what ``thread`` did at ``t_ns``; NOWHERE if none of the user's did."""
        own = self._timeline.at(thread, t_ns)
        node = self._node_at(thread, t_ns)
        if node is not None:
            return self._place_in_node(node, own)
        return self._timeline.at(self.stepping_thread, t_ns) if self._is_autograd(thread) else own

    def places(self, thread: int, times: Sequence[int]) -> list[int]:
        """``place`` at each of these sorted times."""
        nodes = self._nodes.get(thread)
        if nodes is None:
            causing = self.stepping_thread if self._is_autograd(thread) else thread
            return self._timeline.thread(causing).at_each(times)
        own = self._timeline.thread(thread).at_each(times)
        within = list(zip(nodes.at_each(times), own, strict=True))
        known = {
            each: each[1] if each[0] == NONE else self._place_in_node(*each) for each in dict.fromkeys(within)
        }
        return list(map(known.__getitem__, within))

    def _place_in_node(self, node: int, own: int) -> int:
        """``own`` is the thread's own place then."""
        operators = self._trace.operators
        # A backward that runs on the calling thread finds that thread on the ``.backward()`` line throughout.
        if own != NOWHERE and own != self._timeline.at(operators.thread[node], operators.start[node]):
            return own
        if node not in self._node_places:
            self._node_places[node] = self._place_of_node(node)
        return self._node_places[node]

    def origin(self, thread: int, t_ns: int) -> tuple[int, int]:
        """Where in the forward pass began what a thread did at a time: its thread, and the time there.

        Both as given, where it is no backward node's or nothing tells who made the node.
        """
        node = self._node_at(thread, t_ns)
        maker = None if node is None else self._maker_by_arrow(node) or self._maker_by_sequence(node)
        return (thread, t_ns) if maker is None else self.origin(maker[1], maker[0])

    def node_start(self, thread: int, t_ns: int) -> int:
        """When the backward node began that a thread was in at a time; that time itself outside any."""
        node = self._node_at(thread, t_ns)
        return t_ns if node is None else self._trace.operators.start[node]

    def phase(self, thread: int, t_ns: int) -> Phase:
        optimizer = self._optimizer.get(thread)
        if optimizer is not None and optimizer.contains(t_ns):
            return Phase.OPTIMIZER
        in_backward = self._node_at(thread, t_ns) is not None or self._is_autograd(thread)
        return Phase.BACKWARD if in_backward else Phase.FORWARD

    def phases(self, thread: int, times: Sequence[int]) -> list[Phase]:
        """``phase`` at each of these sorted times."""
        nodes, optimizer = self._nodes.get(thread), self._optimizer.get(thread)
        if self._is_autograd(thread):
            found = [Phase.BACKWARD] * len(times)
        elif nodes is None:
            found = [Phase.FORWARD] * len(times)
        else:
            forward, backward = Phase.FORWARD, Phase.BACKWARD
            found = [forward if node == NONE else backward for node in nodes.at_each(times)]
        if optimizer is None:
            return found
        step = Phase.OPTIMIZER
        return [
            step if inside else phase for phase, inside in zip(found, optimizer.contain(times), strict=True)
        ]

    def runs_users_code(self, thread: int, times: Sequence[int]) -> list[bool]:
        """Whether a line of the user's own runs inside a backward node at each of these sorted times."""
        nodes, lines = self._nodes.get(thread), self._timeline.thread(thread)
        if nodes is None or not lines.times:
            return [False] * len(times)
        start = self._trace.operators.start
        within = nodes.at_each(times)
        around = {node: lines.at(start[node]) for node in set(within) if node != NONE}
        return [
            node != NONE and start[node] < time and own not in (NOWHERE, around[node])
            for time, node, own in zip(times, within, lines.at_each(times), strict=True)
        ]

    def _is_autograd(self, thread: int) -> bool:
        """Without operators, a thread that ran none of the user's Python is taken for autograd's."""
        return not len(self._trace.operators) and thread not in self._timeline.threads

    def _node_at(self, thread: int, t_ns: int) -> int | None:
        nodes = self._nodes.get(thread)
        node = NONE if nodes is None else nodes.at(t_ns)
        return None if node == NONE else node

    def _place_of_node(self, node: int) -> int:
        maker = self._maker_by_arrow(node) or self._maker_by_sequence(node)
        if maker is not None:
            place = self.place(maker[1], maker[0])
            if place != NOWHERE:
                return place
        start = self._trace.operators.start[node]
        own = self._timeline.at(self._trace.operators.thread[node], start)
        return own if own != NOWHERE else self._timeline.at(self.stepping_thread, start)

    def _maker_by_arrow(self, node: int) -> _Maker | None:
        operators = self._trace.operators
        thread, start = operators.thread[node], operators.start[node]
        starts = self._arrow_starts.get(thread, [])
        index = bisect.bisect_left(starts, start)
        if index == len(starts) or starts[index] >= operators.end[node]:
            return None
        # An arrow into a node nested in this one (a reentrant backward) is not this node's.
        if self._node_at(thread, starts[index]) != node:
            return None
        maker = self._arrow_makers[thread][index]
        return maker if maker[0] < start else None

    def _maker_by_sequence(self, node: int) -> _Maker | None:
        operators = self._trace.operators
        makers = self._makers.get(operators.sequence[node], [])
        thread = self._native_threads.get(operators.forward_thread[node], self.stepping_thread)
        earlier = [maker for maker in makers if maker[0] < operators.start[node]]
        on_thread = [maker for maker in earlier if maker[1] == thread]
        return max(on_thread or earlier, key=operator.itemgetter(0), default=None)

    def _makers_by_sequence(self, nodes: Sequence[int]) -> dict[int, list[_Maker]]:
        """Of the sequence numbers that backward nodes have."""
        operators = self._trace.operators
        wanted = set(map(operators.sequence.__getitem__, nodes)) - {NONE}
        makers: dict[int, list[_Maker]] = defaultdict(list)
        if wanted:
            numbers = zip(operators.sequence, operators.forward_thread, strict=True)
            for index, (sequence, forward_thread) in enumerate(numbers):
                if forward_thread <= 0 and sequence in wanted:
                    makers[sequence].append((operators.start[index], operators.thread[index]))
        return dict(makers)

    def _arrows_by_thread(self) -> tuple[dict[int, list[int]], dict[int, list[_Maker]]]:
        """For each thread, the sorted times at which arrows end on it, and where each begins."""
        forward = self._trace.arrows.forward
        ends: dict[int, list[tuple[int, _Maker]]] = {}
        for flow, (thread, time) in self._trace.arrows.backward.items():
            if flow in forward:
                maker_thread, maker_start = forward[flow]
                ends.setdefault(thread, []).append((time, (maker_start, maker_thread)))
        for arrows in ends.values():
            arrows.sort(key=operator.itemgetter(0))
        return (
            {thread: [time for time, _ in arrows] for thread, arrows in ends.items()},
            {thread: [maker for _, maker in arrows] for thread, arrows in ends.items()},
        )

    def _forward_threads(self) -> dict[int, int]:
        """torch's own number of a forward thread to its native id, learnt from the arrows."""
        operators = self._trace.operators
        ends = {
            (thread, time): maker[1]
            for thread, times in self._arrow_starts.items()
            for time, maker in zip(times, self._arrow_makers[thread], strict=True)
        }
        found: dict[int, int] = {}
        for index, number in enumerate(operators.forward_thread):
            if number > 0:
                native = ends.get((operators.thread[index], operators.start[index]))
                if native is not None:
                    found[number] = native
        return found


def _intervals_by_thread(trace: Trace, spans: HostSpans, prefixes: tuple[str, ...]) -> dict[int, Intervals]:
    grouped = by_thread(spans, spans_named(trace, spans, prefixes))
    return {
        thread: Intervals((spans.start[span], spans.end[span]) for span in members)
        for thread, members in grouped.items()
    }
