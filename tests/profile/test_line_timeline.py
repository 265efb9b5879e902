"""Which line a thread is on."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from warplint.capture.layout import RawSource
from warplint.profile.raw.process import RawProcess, RawWindow
from warplint.profile.timeline import NOWHERE, Place, Places, ThreadLines, Timeline

SOURCE = """\
x = f(
    a,
    b,
)
for i in range(
    3
):
    y = i
"""


@pytest.fixture
def places() -> Places:
    return Places(RawProcess(Path("raw"), sources={1: RawSource(1, "/app/train.py", "", SOURCE)}))


def lines(places: Places, *events: tuple[int, int, int]) -> ThreadLines:
    return ThreadLines(array("q", [figure for event in events for figure in event]), places)


def test_lines_of_a_statement_are_its_first(places: Places) -> None:
    assert places.number(1, 3) == places.number(1, 1)
    assert places.number(1, 6) == places.number(1, 5)
    assert places.number(1, 8) != places.number(1, 5)
    assert places.all[places.number(1, 4)] == Place(1, 1)


def test_no_frame_and_no_line_are_nowhere(places: Places) -> None:
    assert places.number(0, 5) == NOWHERE
    assert places.number(1, 0) == NOWHERE


def test_text_that_does_not_parse_keeps_physical_lines() -> None:
    places = Places(RawProcess(Path("raw"), sources={1: RawSource(1, "old.py", "", "print 'x'\n")}))
    assert places.all[places.number(1, 1)] == Place(1, 1)


def test_line_holds_until_the_next(places: Places) -> None:
    thread = lines(places, (100, 1, 1), (200, 1, 8), (300, 0, 0))
    first, body = places.number(1, 1), places.number(1, 8)
    found = [thread.at(time) for time in (99, 100, 199, 200, 299, 300, 999)]
    assert found == [NOWHERE, first, first, body, body, NOWHERE, NOWHERE]


def test_events_out_of_order_are_sorted_and_the_later_record_wins_a_tie(places: Places) -> None:
    thread = lines(places, (200, 1, 8), (100, 1, 1), (200, 1, 5))
    assert thread.at(150) == places.number(1, 1)
    assert thread.at(200) == places.number(1, 5)


def test_spans_leave_no_hole(places: Places) -> None:
    thread = lines(places, (100, 1, 1), (200, 1, 8), (200, 1, 5))
    first, loop = places.number(1, 1), places.number(1, 5)
    assert list(thread.spans(50, 250)) == [(50, 100, NOWHERE), (100, 200, first), (200, 250, loop)]
    assert list(thread.spans(120, 150)) == [(120, 150, first)]
    assert list(thread.spans(300, 400)) == [(300, 400, loop)]
    assert list(thread.spans(100, 100)) == []


def test_thread_without_events_is_nowhere(places: Places) -> None:
    timeline = Timeline(RawWindow(0, 0), places)
    assert timeline.at(77, 100) == NOWHERE
    assert list(timeline.thread(77).spans(0, 10)) == [(0, 10, NOWHERE)]
