"""What a thread computed again during the backward pass: activation checkpointing of any make.

A checkpoint runs lines of the forward pass once more inside a backward node, with autograd recording, so the
operators carry sequence numbers of their own, which the backward pass's do not. Hooks and a custom Function's
backward run lines of the user's in there too, but without recording. Nothing is asked about
``torch.utils.checkpoint``: checkpoints of Megatron, DeepSpeed and one's own are told in the same way.

Under ``create_graph=True`` a custom Function's own backward records as well, and counts as computed again.
"""

from __future__ import annotations

from warplint.profile.charge import Charger
from warplint.profile.nesting import Intervals
from warplint.profile.timeline import NOWHERE, Timeline
from warplint.profile.trace import NONE, Trace


class Recomputation:
    """The times of one window at which a thread computed something again."""

    def __init__(self, trace: Trace, timeline: Timeline, charger: Charger) -> None:
        self._timeline, self._charger = timeline, charger
        operators = trace.operators
        spans: dict[int, list[tuple[int, int]]] = {}
        backward = charger.backward_threads
        recording = (
            (each, thread)
            for each, (thread, sequence, forward_thread) in enumerate(
                zip(operators.thread, operators.sequence, operators.forward_thread, strict=True)
            )
            if sequence != NONE and forward_thread <= 0 and thread in backward
        )
        for each, thread in recording:
            if self._is_users(thread, operators.start[each]):
                spans.setdefault(thread, []).append((operators.start[each], operators.end[each]))
        self._spans = {thread: Intervals(each) for thread, each in spans.items()}

    @property
    def threads(self) -> frozenset[int]:
        """The threads that computed anything again."""
        return frozenset(self._spans)

    def holds(self, thread: int, t_ns: int) -> bool:
        return thread in self._spans and self._spans[thread].contains(t_ns)

    def _is_users(self, thread: int, t_ns: int) -> bool:
        """Whether a line of the user's own runs inside a backward node at a time."""
        node_ns = self._charger.node_start(thread, t_ns)
        own = self._timeline.at(thread, t_ns)
        return node_ns < t_ns and own not in (NOWHERE, self._timeline.at(thread, node_ns))
