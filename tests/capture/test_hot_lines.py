"""Lines of plain Python that run too often to be followed."""

from __future__ import annotations

from array import array
from pathlib import Path

from programs import TRAINING, make_project, run

from warplint.capture.hot_lines import FAST_NS, HOT_EVENTS, HotLines

LOOP, CALLER = 7, 8
"""Code objects."""


def events(*lines: tuple[int, int, int], times: int) -> array[int]:
    """``times`` passes over lines given as (code, line, nanoseconds)."""
    flat, now_ns = array("q"), 0
    for _ in range(times):
        for code, line, ns in lines:
            flat.extend((now_ns, code, line))
            now_ns += ns
    return flat


QUICK, SLOW = FAST_NS // 2, FAST_NS * 2


def test_lines_of_a_loop_of_plain_python_are_hot() -> None:
    hot = HotLines()
    assert hot.look(events((LOOP, 1, QUICK), (LOOP, 2, QUICK), times=HOT_EVENTS + 10))
    assert hot.lines == {(LOOP, 1), (LOOP, 2)}
    assert hot.codes == {LOOP}


def test_a_line_that_calls_an_operator_is_followed_however_often_it_runs() -> None:
    hot = HotLines()
    hot.look(events((LOOP, 1, QUICK), (LOOP, 2, SLOW), times=HOT_EVENTS + 10))
    assert hot.lines == {(LOOP, 1)}
    assert hot.codes == set(), "its returns still matter to the line that is followed"


def test_lines_that_run_now_and_then_are_followed() -> None:
    hot = HotLines()
    assert not hot.look(events((LOOP, 1, QUICK), times=HOT_EVENTS))
    assert not hot.look(events(*((LOOP, line, QUICK) for line in range(100)), times=HOT_EVENTS // 10))
    assert hot.lines == set()


def test_time_outside_the_users_code_is_no_line() -> None:
    hot = HotLines()
    hot.look(events((0, 0, QUICK), (CALLER, 3, QUICK), times=HOT_EVENTS + 10))
    assert hot.lines == {(CALLER, 3)}


def test_hot_lines_are_named_in_runs() -> None:
    hot = HotLines()
    code = compile("x = 1", "/somewhere/train.py", "exec")
    hot.lines = {(LOOP, line) for line in (3, 4, 5, 9, 11, 13)}
    assert hot.describe({LOOP: code}) == "train.py:3-5, train.py:9, train.py:11 and 1 more"


def test_a_hot_loop_neither_slows_the_window_much_nor_fills_the_disk(tmp_path: Path) -> None:
    text = f"""
{TRAINING}
def busy(count):
    total = 0
    for index in range(count):
        total += index
        total -= 1
    return total
train(2)
for step in range(5):
    busy(500_000)
    train(1)
"""
    root = make_project(tmp_path / "project", train=text)
    process = run(root, "--after", "2", "--steps", "3", "train.py").process
    loop = text.splitlines().index("    for index in range(count):") + 1
    assert process.notes["hot-lines"].startswith(f"train.py:{loop}")
    met = sum(len(lines) // 3 for lines in process.lines.values())
    assert met < 1_000_000, "all lines of the window would be 6,000,000"
    assert process.closed[0]["step"] == 6
    assert loop - 1 in process.lines_of("busy"), "the line before the loop is still followed"
