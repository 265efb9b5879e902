"""What a window cost the program, told from the steps around it."""

from __future__ import annotations

import pytest

from warplint.profile.steps.ends import STEPS_BESIDE, StepRange, StepTimes

MS = 1_000_000


def ends(*milliseconds: float) -> list[int]:
    return [round(each * MS) for each in milliseconds]


def test_medians_before_inside_and_after_leave_out_the_steps_in_between() -> None:
    # Opened at 31 (the step from 30 took 70 for it), closed with the step that ends at 120.
    times = StepTimes(31 * MS, 120 * MS, ends(0, 10, 20, 30, 100, 110, 120, 200, 212, 224))
    assert dict(times.medians_ms()) == {"before": 10, "inside": 10, "after": 12}


def test_without_whole_steps_there_is_no_median() -> None:
    times = StepTimes(31 * MS, 120 * MS, ends(30, 100))
    assert dict(times.medians_ms()) == {"before": None, "inside": None, "after": None}


def test_only_the_nearest_steps_are_compared() -> None:
    slow = [index * 100.0 for index in range(5)]
    fast = [400.0 + index for index in range(1, STEPS_BESIDE + 1)]
    times = StepTimes(round(421 * MS), round(422 * MS), ends(*slow, *fast))
    assert dict(times.medians_ms())["before"] == 1


@pytest.mark.parametrize(
    ("close", "step_ends", "extra_s"),
    [
        # Three steps in the 89 ms from 31 to 120, against three of 10.
        (120, (0, 10, 20, 30, 100, 110, 120, 200), 0.059),
        # The window outlasts its last step, which alone counts.
        (170, (0, 10, 20, 30, 100, 110, 120, 200), 0.059),
        (60, (0, 10, 20, 30, 40, 50, 60), 0.0),
        (60, (40, 50, 60), None),
        (60, (0, 10, 20, 30, 70), None),
    ],
    ids=["slower", "open at the end", "not slower", "no step before", "no step inside"],
)
def test_steps_inside_cost_what_they_take_longer_than_those_before(
    close: int, step_ends: tuple[int, ...], extra_s: float | None
) -> None:
    found = StepTimes(31 * MS, close * MS, ends(*step_ends)).extra_s()
    assert found == (None if extra_s is None else pytest.approx(extra_s))


def test_steps_too_short_to_count_are_neither_before_nor_inside() -> None:
    # Six steps of 30 ms, a window opened at 231, which the seventh waits for, four of 4 ms, ten of 33 ms.
    before = [30.0 * step for step in range(7)]
    short = [250.0 + 4 * step for step in range(5)]
    counted = [266.0 + 33 * step for step in range(1, 11)]
    counts_ns = 262 * MS + 1
    times = StepTimes(counts_ns, 596 * MS, ends(*before, *short, *counted), lead_in=5)
    assert dict(times.medians_ms()) == {"before": 30, "inside": 33, "after": None}
    assert times.extra_s() == pytest.approx(0.030)
    closed_early = StepTimes(counts_ns, 266 * MS, ends(*before, *short), lead_in=5)
    assert closed_early.extra_s() is None


def test_price_is_told_in_seconds_and_steps() -> None:
    times = StepTimes(31 * MS, 120 * MS, ends(0, 10, 20, 30, 100, 110, 120, 200, 212, 224))
    seconds = {"start_s": 0.4, "inside_s": 0.09, "stop_s": 0.1, "write_s": 0.25}
    assert times.price(3, seconds).sentences(on_gpu=True) == [
        "window 3 cost the program: start 0.40 s, inside 0.06 s extra, stop 0.10 s, write 0.25 s; "
        "median step before 10.0 ms, inside 10.0 ms, after 12.0 ms"
    ]
    assert times.price(3, {}).sentences(on_gpu=True) == []


def test_a_price_without_steps_leaves_out_what_the_steps_would_tell() -> None:
    seconds = {"start_s": 0.4, "inside_s": 0.09, "stop_s": 0.1, "write_s": 0.25}
    assert StepTimes(31 * MS, 120 * MS, []).price(3, seconds).sentences(on_gpu=True) == [
        "window 3 cost the program: start 0.40 s, stop 0.10 s, write 0.25 s"
    ]


def test_a_window_that_disturbed_the_program_is_said_to_have() -> None:
    times = StepTimes(31 * MS, 140 * MS, ends(0, 10, 20, 30, 100, 118, 136))
    (said,) = times.price(1, {}).sentences(on_gpu=True)
    assert said.startswith(
        "steps took 1.8 times as long inside window 1: the capture slowed the host, if nothing else did,"
        " so idle"
    )


def test_without_gpu_work_nothing_is_said_of_idle_time() -> None:
    times = StepTimes(31 * MS, 140 * MS, ends(0, 10, 20, 30, 100, 118, 136))
    assert times.price(1, {}).sentences(on_gpu=False) == [
        "steps took 1.8 times as long inside window 1: the capture slowed the host, if nothing else did"
    ]


@pytest.mark.parametrize(
    ("step_ends", "expected"),
    [
        ([5, 10, 20, 30, 45], StepRange(10, 30, 2, (10, 20, 30))),
        ([30, 20, 10], StepRange(10, 30, 2, (10, 20, 30))),
        ([20], StepRange(10, 40, 0)),
        ([], StepRange(10, 40, 0)),
        ([5, 45], StepRange(10, 40, 0)),
    ],
)
def test_steps_within_a_window(step_ends: list[int], expected: StepRange) -> None:
    assert StepRange.within(10, 40, step_ends) == expected


def test_a_window_is_blamed_only_for_steps_that_are_faster_outside_it() -> None:
    seconds = {"start_s": 0.1}
    disturbed = StepTimes(31 * MS, 95 * MS, ends(0, 10, 20, 30, 50, 70, 90, 100, 110, 120))
    slowed_for_good = StepTimes(31 * MS, 95 * MS, ends(0, 10, 20, 30, 50, 70, 90, 110, 130, 150))
    assert any("2.0 times as long" in note for note in disturbed.price(1, seconds).sentences(on_gpu=True))
    assert len(slowed_for_good.price(1, seconds).sentences(on_gpu=True)) == 1
