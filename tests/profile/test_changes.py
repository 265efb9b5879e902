"""What holds at many times at once is what holds at each of them, told from the spans one by one."""

from __future__ import annotations

import random
from array import array

import pytest

from warplint.profile.changes import Changes
from warplint.profile.kineto.nesting import Intervals, ThreadNesting
from warplint.profile.kineto.trace import NONE, HostSpans

SEEDS = range(40)


def spans_of(pairs: list[tuple[int, int]]) -> HostSpans:
    spans = HostSpans()
    for start, end in pairs:
        for column, value in zip(spans.span_columns, (0, 1, start, end), strict=True):
            column.append(value)
    return spans


def nested(random_: random.Random, begin: int, end: int, depth: int = 4) -> list[tuple[int, int]]:
    """Spans as threads have them: each inside the one round it, or beside it; some of no length."""
    found, now = [], begin
    while depth and now < end and random_.random() < 0.85:
        start = random_.randint(now, end)
        stop = random_.randint(start, end)
        found += [(start, stop), *nested(random_, start, stop, depth - 1)]
        now = stop
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("changes", [0, 3, 200, 2000])
def test_steps_at_many_times_are_those_at_each(seed: int, changes: int) -> None:
    source = random.Random(seed)
    times = sorted(source.choices(range(60), k=changes))
    values = [source.randint(1, 9) for _ in times]
    asked = sorted(source.choices(range(-5, 70), k=30))
    steps = Changes(0, array("q", times), array("q", values))
    expected = [
        next((value for time, value in reversed(list(zip(times, values, strict=True))) if time <= at), 0)
        for at in asked
    ]
    assert steps.at_each(asked) == expected
    assert [steps.at(at) for at in asked] == expected


def test_nothing_is_asked() -> None:
    assert Changes(7, [1], [2]).at_each([]) == []
    assert Changes(7).at_each([3]) == [7]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_innermost_span_is_the_last_that_began_and_has_not_ended(seed: int) -> None:
    source = random.Random(seed)
    pairs = nested(source, 0, 50)
    order = list(range(len(pairs)))
    source.shuffle(order)
    nesting = ThreadNesting(spans_of(pairs), order)
    times = list(range(-1, 52))
    for time, found in zip(times, nesting.innermost.at_each(times), strict=True):
        around = [index for index, (start, end) in enumerate(pairs) if start <= time < end]
        # Of those that hold a time the shortest is the innermost; of equal ones no one can tell.
        shortest = min((pairs[index][1] - pairs[index][0] for index in around), default=None)
        assert (found == NONE) == (shortest is None)
        if shortest is not None:
            assert found in around and pairs[found][1] - pairs[found][0] == shortest
        assert found == next(nesting.around(time), NONE)


@pytest.mark.parametrize("seed", SEEDS)
def test_outermost_spans_begin_where_no_earlier_one_lasts(seed: int) -> None:
    source = random.Random(seed)
    pairs = nested(source, 0, 50)
    ordered = sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
    expected = [
        pair for index, pair in enumerate(ordered) if all(end <= pair[0] for _, end in ordered[:index])
    ]
    assert list(ThreadNesting(spans_of(pairs), range(len(pairs))).outermost()) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_hold_what_any_of_their_spans_holds(seed: int) -> None:
    source = random.Random(seed)
    pairs = [(start, start + source.randint(0, 6)) for start in source.choices(range(50), k=12)]
    intervals = Intervals(pairs)
    times = list(range(-1, 60))
    expected = [int(any(start <= time < end for start, end in pairs)) for time in times]
    assert intervals.contain(times) == expected
    assert [int(intervals.contains(time)) for time in times] == expected
    uncovered = {time for left, right in intervals.outside(10, 40) for time in range(left, right)}
    assert uncovered == {
        time for time, held in zip(times, expected, strict=True) if 10 <= time < 40 and not held
    }
