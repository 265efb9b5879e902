"""When another window opens: where steps have come to take another time, as far as the budget allows."""

from __future__ import annotations

import random

import pytest

from warplint.capture.allowance import Allowance, Opening
from warplint.capture.steps.clock import StepTimes
from warplint.capture.steps.regimes import BLOCKS, PATIENT_BLOCKS, Change, RegimeWatch, median_step_ns

MS = 1_000_000
S = 1_000_000_000


def changed_after(*stretches: tuple[float, int], scatter: float = 0.0) -> tuple[float, Change] | None:
    """After how many seconds since a window a change is seen. Stretches are (milliseconds, steps)."""
    chance, times, now_ns = random.Random(1), StepTimes(), 7 * S
    times.add(now_ns)
    watch = RegimeWatch(times, now_ns)
    for ms, count in stretches:
        for _ in range(count):
            now_ns += round(ms * chance.lognormvariate(0, scatter) * MS)
            times.add(now_ns)
            change = watch.look(now_ns)
            if change is not None:
                return (now_ns - 7 * S) / S, change
    return None


@pytest.mark.parametrize("ms", [0.5, 20.0, 400.0])
def test_steps_that_become_slower_for_good_are_a_change(ms: float) -> None:
    seconds = max(1.0, 10 * ms / 1000)
    before, after = round(6 * seconds * 1000 / ms), round(20 * seconds * 1000 / ms)
    found = changed_after((ms, before), (1.5 * ms, after))
    assert found is not None
    when, change = found
    assert change.before_ns == pytest.approx(ms * MS)
    assert change.after_ns == pytest.approx(1.5 * ms * MS)
    assert when < 6 * seconds + 1.5 * (BLOCKS + 1) * seconds + 1


def test_steps_that_become_faster_are_a_change_too() -> None:
    found = changed_after((30, 300), (20, 1000))
    assert found is not None
    assert str(found[1]) == "steps take 20.0 ms where they took 30.0 ms"


@pytest.mark.parametrize("scatter", [0.0, 0.05, 0.3])
def test_steps_that_stay_as_they_are_do_not_change(scatter: float) -> None:
    assert changed_after((20, 5_000), scatter=scatter) is None


def test_a_slow_stretch_that_ends_is_no_change() -> None:
    assert changed_after((20, 500), (60, 30), (20, 3_000)) is None


def test_checkpoints_are_no_change() -> None:
    assert changed_after(*[(20.0, 99), (3_000.0, 1)] * 30) is None


def test_a_small_change_is_none_to_capture() -> None:
    assert changed_after((20, 500), (22, 5_000)) is None


def test_a_level_that_wanders_is_waited_for_a_while() -> None:
    settled, wandering = (
        changed_after((20, 300), (60, 5_000)),
        changed_after((20, 300), *[(40.0, 30), (80.0, 20)] * 20),
    )
    assert settled is not None and wandering is not None
    assert wandering[0] > settled[0] + 3


def test_a_slow_drift_is_a_change_once_it_is_large() -> None:
    found = changed_after(*[(20.0 + tenth / 10, 20) for tenth in range(200)])
    assert found is not None
    assert found[1].after_ns > 1.2 * found[1].before_ns


def test_a_change_that_is_refused_takes_no_more_room_with_every_second() -> None:
    times, now_ns = StepTimes(), 7 * S
    times.add(now_ns)
    watch = RegimeWatch(times, now_ns)
    seen = 0
    for second in range(200):
        for _ in range(20):
            now_ns += (50 if second < 10 else 100) * MS
            times.add(now_ns)
            seen += watch.look(now_ns) is not None
    assert seen > 100
    assert len(watch._blocks) == PATIENT_BLOCKS


def test_the_median_is_of_the_last_steps() -> None:
    ends_ns = [0, 100, 200, 210, 220, 235]
    assert median_step_ns(ends_ns, 3) == 10
    assert median_step_ns(ends_ns, 100) == 15
    assert median_step_ns([5], 3) == median_step_ns([], 3) == 0


def opened_and_closed(allowance: Allowance) -> None:
    """A window of 11 steps of 40 ms before, 50 ms inside; 0.3 s to open, 0.5 s to close."""
    opening = Opening(began_ns=10 * S, opened_ns=10 * S + 300 * MS, step=100, before_ns=40 * MS)
    last_step_ns = opening.opened_ns + 11 * 50 * MS
    allowance.spend(opening.cost(111, last_step_ns, last_step_ns + 500 * MS))


def test_a_window_costs_what_it_held_up_and_what_its_steps_took_longer() -> None:
    opening = Opening(began_ns=10 * S, opened_ns=10 * S + 300 * MS, step=100, before_ns=40 * MS)
    cost = opening.cost(111, opening.opened_ns + 550 * MS, opening.opened_ns + 1_050 * MS)
    assert (cost.held_ns, cost.extra_ns) == (800 * MS, 110 * MS)
    assert cost.expected_ns(80 * MS) == 800 * MS + 220 * MS


def test_windows_cost_no_more_than_their_share_of_the_run() -> None:
    allowance = Allowance(0.03, began_ns=0)
    assert allowance.allows(40 * MS, 0), "the first is not held back"
    opened_and_closed(allowance)
    # It cost 0.91 s; another would cost as much at 40 ms a step, and 0.11 s more at 80 ms.
    assert not allowance.allows(40 * MS, round(60 * S))
    assert allowance.allows(40 * MS, round(2 * 0.91 / 0.03 * S) + 1)
    assert not allowance.allows(80 * MS, round(2 * 0.91 / 0.03 * S) + 1)
    assert allowance.allows(80 * MS, round((2 * 0.91 + 0.11) / 0.03 * S) + 1)
    opened_and_closed(allowance)
    assert not allowance.allows(40 * MS, round(2 * 0.91 / 0.03 * S) + 1)


def test_no_budget_allows_no_further_window() -> None:
    allowance = Allowance(0.0, began_ns=0)
    opened_and_closed(allowance)
    assert not allowance.allows(40 * MS, 10**6 * S)
