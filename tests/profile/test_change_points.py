"""Changes of level in step times: planted ones are found where they are, and nothing else is."""

from __future__ import annotations

import math
import random
import time

import pytest

from warplint.profile.steps.change_points import LEAST_CHANGE, SHORTEST, change_points


def steps(seed: int, *levels: tuple[float, int], scatter: float = 0.03) -> list[float]:
    """Stretches given as (milliseconds, steps), each step off by a log-normal factor."""
    chance = random.Random(seed)
    return [ms * chance.lognormvariate(0, scatter) for ms, count in levels for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scatter", [0.001, 0.03, 0.1])
def test_a_planted_change_is_found_at_its_step(seed: int, scatter: float) -> None:
    assert change_points(steps(seed, (41, 1200), (63, 800), scatter=scatter)) == [1200]


def test_a_change_in_strong_scatter_is_found_near_its_step() -> None:
    (found,) = change_points(steps(1, (40, 1000), (60, 1000), scatter=0.25))
    assert abs(found - 1000) <= 10


def test_a_program_may_become_faster() -> None:
    assert change_points(steps(2, (60, 300), (40, 300))) == [300]


def test_several_changes_are_found() -> None:
    found = change_points(steps(3, (40, 300), (50, 300), (60, 300), (40, 300)))
    assert found == pytest.approx([300, 600, 900], abs=1)


def test_a_slow_stretch_that_ends_is_found() -> None:
    found = change_points(steps(4, (41, 900), (80, 60), (41, 1040)))
    assert found == pytest.approx([900, 960], abs=1)


def test_a_change_shortly_before_the_end_is_found() -> None:
    assert change_points(steps(5, (40, 980), (60, 20))) == [980]


@pytest.mark.parametrize("seed", range(40))
def test_steps_of_one_level_have_no_change(seed: int) -> None:
    assert change_points(steps(seed, (40, 600), scatter=0.1)) == []


@pytest.mark.parametrize("every", [7, 50, 100])
def test_checkpoints_and_evaluations_are_no_change(every: int) -> None:
    times = steps(6, (41, 2000))
    times[every::every] = [30 * ms for ms in times[every::every]]
    assert change_points(times) == []


def test_a_pause_of_some_steps_is_no_change() -> None:
    assert change_points(steps(7, (41, 500), (80, SHORTEST - 4), (41, 500))) == []


def test_steps_that_take_turns_have_one_level() -> None:
    assert change_points([40.0, 90.0] * 500) == []
    assert change_points([40.0, 40.0, 40.0, 160.0] * 250) == []


def test_equal_steps_and_too_few_have_no_change() -> None:
    assert change_points([40.0] * 1000) == []
    assert change_points([]) == []
    assert change_points([40.0] * SHORTEST + [80.0] * (SHORTEST - 1)) == []
    assert change_points([40.0] * 2 * SHORTEST + [80.0] * 2 * SHORTEST) == [2 * SHORTEST]


def test_a_change_too_small_to_matter_is_not_told() -> None:
    small = steps(8, (40, 1000), (40 * (1 + LEAST_CHANGE / 2), 1000), scatter=0.002)
    assert change_points(small) == []
    large = steps(8, (40, 1000), (40 * (1 + LEAST_CHANGE * 2), 1000), scatter=0.002)
    assert change_points(large) == [1000]


def test_the_unit_does_not_matter() -> None:
    times = steps(9, (41, 400), (63, 400))
    assert change_points([1e-6 * ms for ms in times]) == change_points([1e6 * ms for ms in times]) == [400]


def test_twice_the_steps_take_little_more_than_twice_the_time() -> None:
    def cpu_s(count: int) -> float:
        times = steps(10, (41, count))
        before = time.process_time()
        change_points(times)
        return time.process_time() - before

    short, long = min(cpu_s(2_000) for _ in range(3)), min(cpu_s(16_000) for _ in range(3))
    growth = 8 * math.log(16_000) / math.log(2_000)
    assert long < 2.5 * growth * short
