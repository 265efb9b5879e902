"""What a thread computed again during the backward pass: activation checkpointing of any make.

A checkpoint runs lines of the forward pass once more inside a backward node, with autograd recording, so the
operators carry sequence numbers of their own, which the backward pass's do not. Hooks and a custom Function's
backward run lines of the user's in there too, but without recording. Nothing is asked about
``torch.utils.checkpoint``: checkpoints of Megatron, DeepSpeed and one's own are told in the same way.

Under ``create_graph=True`` a custom Function's own backward records as well, and counts as computed again.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import compress

from warplint.profile.attribution.charge import Charger
from warplint.profile.kineto.nesting import Intervals
from warplint.profile.kineto.trace import NONE, Trace


class Recomputation:
    """The times of one window at which a thread computed something again."""

    def __init__(self, trace: Trace, charger: Charger) -> None:
        operators = trace.operators
        backward = charger.backward_threads
        recorded: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for thread, sequence, forward_thread, start, end in zip(
            operators.thread,
            operators.sequence,
            operators.forward_thread,
            operators.start,
            operators.end,
            strict=True,
        ):
            if sequence != NONE and forward_thread <= 0 and thread in backward:
                recorded[thread].append((start, end))
        self._spans: dict[int, Intervals] = {}
        for thread, spans in recorded.items():
            spans.sort()
            users = charger.runs_users_code(thread, [start for start, _ in spans])
            if any(users):
                self._spans[thread] = Intervals(compress(spans, users))

    @property
    def threads(self) -> frozenset[int]:
        """The threads that computed anything again."""
        return frozenset(self._spans)

    def holds(self, thread: int, t_ns: int) -> bool:
        return thread in self._spans and self._spans[thread].contains(t_ns)
