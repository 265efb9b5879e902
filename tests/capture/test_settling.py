"""When a window opens."""

from __future__ import annotations

import pytest

from warplint.capture.steps.clock import StepKind, StepTimes
from warplint.capture.steps.settle import PATIENCE, reason_to_open


def opens_after(step_ms: list[float], kind: StepKind = StepKind.OPTIMIZER) -> tuple[int, str] | None:
    """After which step the window opens, and why."""
    times, now_ns = StepTimes(), 5_000_000_000
    for step, ms in enumerate([0.0, *step_ms], start=1):
        now_ns += round(ms * 1e6)
        times.add(now_ns)
        reason = reason_to_open(kind, times)
        if reason is not None:
            return step, reason
    return None


def test_even_steps_have_settled_when_enough_were_seen() -> None:
    assert opens_after([10.0] * 20) == (PATIENCE[StepKind.OPTIMIZER].steps + 1, "step time settled")


def test_warm_up_is_waited_for() -> None:
    opened = opens_after([900, 500, 200, 80, 40, 20, 15, 12, *[10.0] * 20])
    assert opened is not None
    assert 9 <= opened[0] <= 13


def test_one_slow_step_among_the_last_does_not_hold_it_up() -> None:
    assert opens_after([10, 10, 30, 10, 10, 10]) == (6, "step time settled")


@pytest.mark.parametrize("count", [40, 200])
def test_step_times_that_never_settle_are_captured_all_the_same(count: int) -> None:
    opened = opens_after([10.0 * (1 + step % 4) for step in range(count)])
    limit = PATIENCE[StepKind.OPTIMIZER].max_steps
    assert opened == (
        (limit + 1, f"step time had not settled after {limit + 1} steps") if count > limit else None
    )


def test_long_steps_are_not_waited_for_forever() -> None:
    opened = opens_after([20_000.0, 20_000.0, 20_000.0])
    assert opened == (3, "step time had not settled after 30 s")


def test_module_calls_are_watched_longer_than_optimizer_steps() -> None:
    opened = opens_after([10.0] * 50, StepKind.MODULE)
    assert opened == (PATIENCE[StepKind.MODULE].steps + 1, "step time settled")
