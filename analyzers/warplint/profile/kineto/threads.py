"""The threads of a trace that has no CPU operators.

CUPTI numbers threads by the lower 32 bits of their ``pthread_t``. Kineto puts native ids in their place for
the threads on which it saw a CPU operator, and for no others.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from warplint.profile.kineto.trace import Trace

BITS = 32


def name_threads(trace: Trace, native_ids: Mapping[int, int]) -> None:
    """Put native ids in the place of ``pthread_t`` numbers, by a map from the latter."""
    if not native_ids:
        return
    found = {}
    for pthread, native_id in native_ids.items():
        lower = pthread & ((1 << BITS) - 1)
        # Kineto writes the number with and without a sign, by its version.
        found[lower] = found[lower - (1 << BITS)] = native_id
    trace.calls.thread = array("q", (found.get(thread, thread) for thread in trace.calls.thread))
