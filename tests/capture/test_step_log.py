"""Every step's time of the whole run, in bounded space."""

from __future__ import annotations

import statistics
from itertools import pairwise

import pytest

from warplint.capture.steps.log import BUCKETS_A_SIZE, EXACT_STEPS, SMALLEST_BUCKET, StepLog

STEP_NS = 1_000


def logged(log: StepLog, first: int, last: int) -> None:
    for index in range(first, last + 1):
        log.add(index, index * STEP_NS)


def taken(log: StepLog) -> tuple[list[tuple[int, int]], list[tuple[int, ...]]]:
    steps, buckets = log.take()
    return (
        list(zip(steps[::2], steps[1::2], strict=True)),
        list(zip(*(buckets[field::6] for field in range(6)), strict=True)),
    )


def test_the_first_steps_are_kept_one_by_one() -> None:
    log = StepLog()
    logged(log, 1, EXACT_STEPS)
    steps, buckets = taken(log)
    assert steps == [(index, index * STEP_NS) for index in range(1, EXACT_STEPS + 1)]
    assert buckets == []
    assert taken(log) == ([], []), "what was taken is not there again"


def test_later_steps_are_kept_in_buckets() -> None:
    log = StepLog()
    logged(log, 1, EXACT_STEPS)
    taken(log)
    now_ns = EXACT_STEPS * STEP_NS
    times = [700, 1_100, 40_000, 900]
    for index, ns in enumerate(times, EXACT_STEPS + 1):
        now_ns += ns
        log.add(index, now_ns)
    assert taken(log)[1] == [
        (EXACT_STEPS + 2, 2, EXACT_STEPS * STEP_NS + 1_800, 700, 900, 1_100),
        (EXACT_STEPS + 4, 2, EXACT_STEPS * STEP_NS + 42_700, 900, 20_450, 40_000),
    ]


def test_every_step_is_in_one_record_alone() -> None:
    log = StepLog()
    logged(log, 1, 100_001)
    log.finish(100_001)
    steps, buckets = taken(log)
    assert len(steps) + sum(count for _, count, *_ in buckets) == 100_001
    lasts = [len(steps), *(last for last, *_ in buckets)]
    assert [late - early for early, late in pairwise(lasts)] == [count for _, count, *_ in buckets]


@pytest.mark.parametrize("millions", [1, 4])
def test_buckets_grow_with_the_run(millions: int) -> None:
    log = StepLog()
    total = millions * 1_000_000
    logged(log, 1, total)
    steps, buckets = taken(log)
    sizes = [count for _, count, *_ in buckets]
    assert sizes == sorted(sizes)
    # Sizes of 2, 4, 8 … have five thousand buckets each: 10,000 steps, 20,000, 40,000 …
    doublings, covered = 0, EXACT_STEPS
    while covered < total:
        covered += BUCKETS_A_SIZE * SMALLEST_BUCKET * 2**doublings
        doublings += 1
    assert len(buckets) <= doublings * BUCKETS_A_SIZE
    assert 16 * len(steps) + 48 * len(buckets) < 3_000_000
    assert max(sizes) * 1_000 < 2 * total, "a change is known to a thousandth of the run"


def test_steps_in_and_beside_a_window_are_kept_one_by_one() -> None:
    log = StepLog()
    logged(log, 1, EXACT_STEPS + 1_001)
    taken(log)
    index = EXACT_STEPS + 1_001
    recent = [step * STEP_NS for step in range(index - 20, index + 1)]
    log.keep(index, recent)
    logged(log, index + 1, index + 11)
    log.thin_out_after(index + 11 + 5)
    logged(log, index + 12, index + 30)
    log.finish(index + 30)
    steps, buckets = taken(log)
    assert [step for step, _ in steps] == list(range(index - 20, index + 17))
    assert all(t_ns == step * STEP_NS for step, t_ns in steps)
    assert buckets[0][:2] == (index, 1), "the open bucket ends where the window begins"
    assert buckets[1][:2] == (index + 18, 2)
    assert sum(count for _, count, *_ in buckets[1:]) == 14


def test_a_bucket_tells_the_median_and_the_extremes() -> None:
    log = StepLog()
    logged(log, 1, EXACT_STEPS)
    taken(log)
    log.keep(EXACT_STEPS, [])
    log.thin_out_after(0)
    now_ns, index = EXACT_STEPS * STEP_NS, EXACT_STEPS
    for _ in range(BUCKETS_A_SIZE * SMALLEST_BUCKET):
        index, now_ns = index + 1, now_ns + STEP_NS
        log.add(index, now_ns)
    taken(log)
    times = [5, 900, 30, 20]
    for ns in times:
        index, now_ns = index + 1, now_ns + ns
        log.add(index, now_ns)
    ((_, count, _, shortest, median, longest),) = taken(log)[1]
    assert (count, shortest, median, longest) == (4, 5, statistics.median(times), 900)


def test_a_log_that_begins_late_has_no_bucket_from_the_clocks_zero() -> None:
    log = StepLog()
    first = EXACT_STEPS + 7
    for index, t_ns in enumerate((5_000_000, 5_001_000, 5_003_000), first):
        log.add(index, t_ns)
    assert taken(log)[1] == [(first + 2, 2, 5_003_000, 1_000, 1_500, 2_000)]
