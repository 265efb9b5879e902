"""Costs on a text that was edited after the capture."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from warplint.profile.follow import place
from warplint.profile.model import CapturedSource, LineCost, Profile, Totals
from warplint.source.text import SourceText

CAPTURED = """\
import torch

def forward(x):
    y = torch.relu(x)
    z = torch.cat(
        [x, y],
        dim=1,
    )
    return z.sum()
"""
LINES = (4, 5, 9)


def source(text: str) -> SourceText:
    return SourceText(text, Path("/elsewhere/train.py"))


@pytest.fixture
def profile() -> Profile:
    lines = [LineCost("train.py", line, busy_us=line) for line in LINES] + [LineCost("other.py", 4)]
    captured = CapturedSource("train.py", source(CAPTURED).digest, CAPTURED)
    return Profile("capture", [], Totals(), lines, {"train.py": captured})


def placed(profile: Profile, text: str) -> dict[int, tuple[int, bool]]:
    """Captured line to (line now, stale)."""
    found = place(profile, "train.py", source(text))
    assert all(line == cost.line for line, cost in found.items())
    return {cost.cost.line: (cost.line, cost.stale) for cost in found.values()}


def test_unchanged_text(profile: Profile) -> None:
    assert placed(profile, CAPTURED) == {4: (4, False), 5: (5, False), 9: (9, False)}


def test_other_and_unknown_files_have_no_costs(profile: Profile) -> None:
    assert place(profile, "unknown.py", source(CAPTURED)) == {}
    assert place(profile, "other.py", source(CAPTURED)) == {}


def test_lines_inserted_above_move_costs_down(profile: Profile) -> None:
    assert placed(profile, "# a comment\n\n" + CAPTURED) == {4: (6, False), 5: (7, False), 9: (11, False)}


def test_lines_deleted_above_move_costs_up(profile: Profile) -> None:
    text = CAPTURED.replace("import torch\n\n", "")
    assert placed(profile, text) == {4: (2, False), 5: (3, False), 9: (7, False)}


def test_an_edited_line_is_stale_where_it_stands(profile: Profile) -> None:
    text = CAPTURED.replace("torch.relu(x)", "torch.gelu(x)")
    assert placed(profile, text) == {4: (4, True), 5: (5, False), 9: (9, False)}


def test_a_statement_is_stale_when_a_later_line_of_it_changed(profile: Profile) -> None:
    assert placed(profile, CAPTURED.replace("dim=1", "dim=2"))[5] == (5, True)


def test_a_statement_is_stale_when_a_line_came_between(profile: Profile) -> None:
    text = CAPTURED.replace("        dim=1,\n", "        # along channels\n        dim=1,\n")
    assert placed(profile, text) == {4: (4, False), 5: (5, True), 9: (10, False)}


def test_costs_of_deleted_lines_are_gone(profile: Profile) -> None:
    text = CAPTURED.replace("    y = torch.relu(x)\n", "")
    assert placed(profile, text) == {5: (4, False), 9: (8, False)}


def test_an_edited_line_beside_a_new_one_is_found_by_likeness(profile: Profile) -> None:
    text = CAPTURED.replace("    y = torch.relu(x)\n", "    # rectify\n    y = torch.relu(x + 1)\n")
    assert placed(profile, text) == {4: (5, True), 5: (6, False), 9: (10, False)}


@pytest.mark.parametrize("instead", ["    if False:\n        raise ValueError\n", "    assert False\n"])
def test_a_line_replaced_by_nothing_like_it_is_gone(profile: Profile, instead: str) -> None:
    text = CAPTURED.replace("    y = torch.relu(x)\n", instead)
    more = instead.count("\n") - 1
    assert placed(profile, text) == {5: (5 + more, False), 9: (9 + more, False)}


def test_a_rewritten_file_does_not_keep_an_editor_waiting() -> None:
    """Every line is like many others, so that comparing each with each would take a minute."""
    old = "".join(f"value_{number} = first[{number}]\n" for number in range(600))
    new = "".join(f"other_{number} = second[{number}]\n" for number in range(605))
    lines = [LineCost("train.py", number + 1) for number in range(600)]
    captured = CapturedSource("train.py", source(old).digest, old)
    start = time.process_time()
    placed(Profile("capture", [], Totals(), lines, {"train.py": captured}), new)
    assert time.process_time() - start < 3


def test_a_long_line_of_data_is_told_by_its_beginning() -> None:
    text = f"TABLE = [{'0, 1, ' * 20_000}]\n"
    captured = CapturedSource("train.py", source(text).digest, text)
    profile = Profile("capture", [], Totals(), [LineCost("train.py", 1)], {"train.py": captured})
    start = time.process_time()
    assert placed(profile, text.replace("]", "2]")) == {1: (1, True)}
    assert time.process_time() - start < 3


def test_moved_to_other_line_endings_nothing_changed(profile: Profile) -> None:
    assert placed(profile, CAPTURED.replace("\n", "\r\n")) == {4: (4, False), 5: (5, False), 9: (9, False)}


def test_a_text_being_typed_that_does_not_parse(profile: Profile) -> None:
    assert placed(profile, CAPTURED + "def half(:\n")[9] == (9, False)


def test_everything_replaced(profile: Profile) -> None:
    assert placed(profile, "") == {}
