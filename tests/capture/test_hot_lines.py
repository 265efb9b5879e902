"""Lines of plain Python that run too often to be followed."""

from __future__ import annotations

from array import array
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from operators import assert_marked_operators_are_on_their_lines
from programs import TRAINING, Run, make_project, run

from warplint.capture.lines.calling_lines import lines_with_calls
from warplint.capture.lines.hot_lines import BUDGET, FAST_NS, LOOKED_AT, HotLines
from warplint.profile.store import open_profile

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
PASSES = BUDGET // 2 + 10


def test_lines_of_a_loop_of_plain_python_are_hot() -> None:
    hot = HotLines()
    assert hot.look(events((LOOP, 1, QUICK), (LOOP, 2, QUICK), times=PASSES))
    assert hot.lines == {(LOOP, 1), (LOOP, 2)}
    assert hot.codes == {LOOP}


def test_a_line_that_calls_an_operator_is_followed_however_often_it_runs() -> None:
    hot = HotLines()
    hot.look(events((LOOP, 1, QUICK), (LOOP, 2, SLOW), times=2 * PASSES))
    assert hot.lines == {(LOOP, 1)}
    assert hot.codes == set(), "its returns still matter to the line that is followed"
    assert hot.plain == {}


def test_the_budget_is_of_a_code_object_and_not_of_a_line() -> None:
    hot = HotLines()
    lines = [(LOOP, line, QUICK) for line in range(100)]
    assert not hot.look(events(*lines, times=BUDGET // 100 - 1))
    assert hot.look(events(*lines, times=BUDGET // 100 + 2))
    assert len(hot.lines) == 100


def test_code_that_spends_its_budget_takes_none_of_another() -> None:
    hot = HotLines()
    hot.look(events((LOOP, 1, QUICK), *[(CALLER, line, QUICK) for line in range(2)], times=BUDGET // 2 - 10))
    assert hot.lines == set()
    hot.look(events((LOOP, 1, QUICK), *[(CALLER, line, QUICK) for line in range(2)], times=BUDGET // 2 + 10))
    assert hot.lines == {(CALLER, 0), (CALLER, 1)}


def test_lines_beside_a_loop_are_followed() -> None:
    hot = HotLines()
    loop = events((LOOP, 2, QUICK), (LOOP, 3, QUICK), times=BUDGET)
    hot.look(array("q", [-QUICK, LOOP, 1]) + loop)
    assert hot.lines == {(LOOP, 2), (LOOP, 3)}
    assert hot.codes == set()
    assert hot.plain in ({LOOP: 2}, {LOOP: 3})


def test_code_with_a_slow_line_at_any_time_is_not_plain() -> None:
    hot = HotLines()
    hot.look(events((LOOP, 2, QUICK), (LOOP, 3, QUICK), times=BUDGET))
    assert hot.plain
    hot.look(events((LOOP, 9, SLOW), (CALLER, 1, QUICK), times=3))
    assert hot.plain == {}
    hot.look(events((LOOP, 4, QUICK), (LOOP, 5, QUICK), times=BUDGET))
    assert hot.plain == {}


def test_many_events_are_judged_by_a_sample() -> None:
    hot = HotLines()
    hot.look(array("q", [-QUICK, LOOP, 9]) + events((LOOP, 1, QUICK), (LOOP, 2, QUICK), times=10 * LOOKED_AT))
    assert hot.lines == {(LOOP, 1), (LOOP, 2)}
    assert hot.codes == set(), "the line before the loop was met, long before the sample"


def test_time_outside_the_users_code_is_no_line() -> None:
    hot = HotLines()
    hot.look(events((0, 0, QUICK), (CALLER, 3, QUICK), times=2 * PASSES))
    assert hot.lines == {(CALLER, 3)}


def test_hot_lines_are_named_in_runs() -> None:
    hot = HotLines()
    code = compile("x = 1", "/somewhere/train.py", "exec")
    hot.lines = {(LOOP, line) for line in (3, 4, 5, 9, 11, 13)}
    assert hot.describe({LOOP: code}) == "train.py:3-5, train.py:9, train.py:11 and 1 more"


def looped(count: int, flag: Any, stream: Any) -> int:
    total = 0
    for index in range(count):
        total += index
    if flag is None:
        total = count
    if flag:
        total = flag
    stream.write(count)
    return total


FIRST = looped.__code__.co_firstlineno
LOOPING, CALLING = {FIRST + 2, FIRST + 3}, {FIRST + 6, FIRST + 8}
"""The lines of its loop, and those that ask for an object's truth or call something."""


def test_a_line_calls_something_unless_it_only_moves_names_about() -> None:
    # Whether ``is`` runs anything is known to it alone: it does not.
    assert lines_with_calls(looped.__code__) - {FIRST + 4} == LOOPING | CALLING


def test_a_function_is_known_to_be_plain_once_nothing_in_it_can_be_slow() -> None:
    code = id(looped.__code__)
    hot = HotLines(met={code: looped.__code__})
    loop = events(*[(code, line, QUICK) for line in sorted(LOOPING)], times=PASSES)
    hot.look(loop)
    assert hot.plain and not hot.known_plain, "a line that calls something has not been met"
    hot.lines |= {(code, line) for line in CALLING | {FIRST + 4}}
    hot.look(loop)
    assert hot.known_plain == {code}


def test_a_line_that_calls_nothing_is_never_slow() -> None:
    code = id(looped.__code__)
    hot = HotLines(met={code: looped.__code__})
    loop = events(*[(code, line, QUICK) for line in sorted(LOOPING)], times=PASSES)
    hot.look(array("q", [-SLOW, code, FIRST + 1]) + loop)
    assert hot.plain
    hot.look(array("q", [-SLOW, code, FIRST + 8]) + loop)
    assert hot.plain == {}


class Looked(dict[int, CodeType]):
    """Code objects, and which of them were looked into."""

    def __init__(self, *codes: CodeType) -> None:
        super().__init__((id(code), code) for code in codes)
        self.into: set[int] = set()

    def __getitem__(self, code: int) -> CodeType:
        self.into.add(code)
        return super().__getitem__(code)


def test_only_functions_with_hot_lines_are_disassembled() -> None:
    code, other = looped.__code__, line_of.__code__
    met = Looked(code, other)
    hot = HotLines(met=met)
    hot.look(events((id(other), other.co_firstlineno + 1, SLOW), (id(code), FIRST + 8, SLOW), times=50))
    assert met.into == set()
    hot.look(events(*[(id(code), line, QUICK) for line in sorted(LOOPING)], times=PASSES))
    assert met.into == {id(code)}
    assert hot.lines and hot.plain == {}, "it was slow before it was hot"


TEXT = f"""
{TRAINING}
def busy(count):
    total = 0
    for index in range(count):
        total += index
        total -= 1
    return total
def mixed(count):
    busy(count)
    return torch.ones(4).sinc()  # -> sinc
train(2)
for step in range(9):
    mixed(100_000)
    train(1)
"""


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = make_project(tmp_path_factory.mktemp("hot") / "project", train=TEXT)
    return run(root, "--after", "2", "--steps", "7", "train.py")


def line_of(text: str) -> int:
    return TEXT.splitlines().index(text) + 1


def test_a_hot_loop_neither_slows_the_window_much_nor_fills_the_disk(hot: Run) -> None:
    process = hot.process
    loop = line_of("    for index in range(count):")
    assert process.notes["hot-lines"].startswith(f"train.py:{loop}-{loop + 2}: run too often")
    met = sum(len(lines) // 3 for lines in process.lines.values())
    assert met < 1_200_000, "all lines of the window are 2,400,000"
    assert process.closed[0]["step"] == 10
    assert loop - 1 in process.lines_of("busy"), "the line before the loop is still followed"


def test_the_time_of_a_hot_loop_stands_on_it(hot: Run) -> None:
    profile = open_profile(hot.folder)
    loop = line_of("    for index in range(count):")
    inside = sum(cost.share for cost in profile.lines if loop <= cost.line <= loop + 2)
    assert inside > 0.6


def test_operators_beside_a_hot_loop_stay_on_their_lines(hot: Run) -> None:
    assert_marked_operators_are_on_their_lines(hot.folder, TEXT)


GENERATING = f"""
{TRAINING}
def squares():
    for number in range(60_000):
        yield number * number
train(2)
for step in range(9):
    sum(squares())
    train(1)
"""


def test_a_generator_of_plain_python_is_left_alone_after_its_first_pass(tmp_path: Path) -> None:
    """It is left and resumed at each element: of that nothing may be told either."""
    root = make_project(tmp_path / "project", train=GENERATING)
    process = run(root, "--after", "2", "--steps", "7", "train.py").process
    met = sum(len(lines) // 3 for lines in process.lines.values())
    assert met < 700_000, "all of the window are 1,680,000"
    assert process.notes["hot-lines"].startswith("train.py:")
