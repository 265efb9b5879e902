"""When a window opens: once warm-up and compilation are over, which shows in step times that have settled."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from itertools import pairwise

from warplint.capture.steps.clock import StepKind, StepTimes


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for step times to settle, and what settled means."""

    steps: int
    """Consecutive step times looked at."""
    spread: float
    """The most their interquartile range may be, as a share of their median."""
    max_steps: int
    """Open after so many steps all the same."""
    max_seconds: float
    """Open so long after the first step all the same."""


PATIENCE = {
    StepKind.OPTIMIZER: Patience(steps=5, spread=0.1, max_steps=20, max_seconds=30.0),
    # Before the first optimizer step module calls look like inference: a sanity check, a warm-up.
    StepKind.MODULE: Patience(steps=20, spread=0.1, max_steps=100, max_seconds=30.0),
}
UNUSED_OPTIMIZER_CALLS = 200
"""Module calls after which a program that has built an optimizer and not used it is taken to infer."""


def reason_to_open(kind: StepKind, times: StepTimes) -> str | None:
    """Why to open a window now, in a phrase, or None to wait."""
    patience, ends_ns = PATIENCE[kind], times.recent
    if len(ends_ns) > patience.steps and _settled(patience, list(ends_ns)[-patience.steps - 1 :]):
        return "step time settled"
    if times.count > patience.max_steps:
        return f"step time had not settled after {times.count} steps"
    if len(ends_ns) > 1 and (ends_ns[-1] - times.first_ns) / 1e9 > patience.max_seconds:
        return f"step time had not settled after {patience.max_seconds:.0f} s"
    return None


def _settled(patience: Patience, ends_ns: list[int]) -> bool:
    times = [after - before for before, after in pairwise(ends_ns)]
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return high - low <= patience.spread * median
