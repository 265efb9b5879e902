"""When the GPU had its part of the captured steps, which may be long after the host launched it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warplint.profile.steps.ends import StepRange

RAN_AHEAD = 1.1
"""So many times longer than launching them must the GPU take for the steps before it is remarked on."""


@dataclass(frozen=True, slots=True)
class GpuSteps:
    """The time whose busy and idle parts are those of the captured steps."""

    begin_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


def gpu_steps(steps: StepRange, work: Iterable[tuple[int, int, int]]) -> GpuSteps:
    """``work`` is (launched, began, ended) of each piece of GPU work.

    Where nothing makes the host wait, it runs ahead: it has launched all of a window's steps while the GPU
    is at the first of them. The queue of launches has an end, so a program is no faster than its GPU for
    long. Where the GPU works longer for the steps than the host, they are the time from the end of what was
    launched before them to the end of what was launched in them. Else they are the host's own.
    """
    before_ns = steps.begin_ns
    within: list[tuple[int, int]] = []
    for launched_ns, began_ns, ended_ns in work:
        if launched_ns < steps.begin_ns:
            before_ns = max(before_ns, ended_ns)
        elif launched_ns < steps.end_ns:
            within.append((began_ns, ended_ns))
    own = GpuSteps(steps.begin_ns, steps.end_ns)
    if sum(ended - began for began, ended in within) <= own.length_ns:
        return own
    worked_ns = _union_ns(within)
    if worked_ns <= own.length_ns:
        return own
    last_ns = max(ended for _, ended in within)
    # On other streams it may have begun before all that had been launched earlier was done.
    return GpuSteps(min(before_ns, last_ns - worked_ns), last_ns)


def _union_ns(spans: list[tuple[int, int]]) -> int:
    """How long any of them went on. Sorts them."""
    spans.sort()
    total_ns, reached_ns = 0, spans[0][0]
    for began_ns, ended_ns in spans:
        total_ns += max(0, ended_ns - max(began_ns, reached_ns))
        reached_ns = max(reached_ns, ended_ns)
    return total_ns
