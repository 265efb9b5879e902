"""Scoring texts, and what is wanted of a score's parts."""

from __future__ import annotations

import re
from pathlib import Path

from warplint.advice.score.file_score import Score, score
from warplint.project.config import Config
from warplint.project.engine import Checked, Engine
from warplint.source.text import SourceText
from wording import faults

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "score.md").read_text(encoding="utf-8")
(DOCUMENTED_PROGRAM,) = re.findall(r"```python\n(.*?)```", DOCUMENTED, re.DOTALL)
ROW = re.compile(r"^ *\| *([^|]+?) *\| *([^|]*?) *\|(?: *([^|]*?) *\|)?(?: *([^|]*?) *\|)?$", re.MULTILINE)

LONGEST = 120
"""Of a row of a score, and of its summary."""

ENGINE = Engine(Path("/"), Config(Path("/")))


def source(text: str) -> SourceText:
    return SourceText(text, Path("/program.py"))


def checked(text: str, previous: Checked | None = None) -> Checked:
    return ENGINE.check(source(text), previous)


def scored(text: str, previous: Checked | None = None) -> Score:
    """The score of a text that must have one."""
    found = score(checked(text, previous))
    assert found is not None, "the text has no GPU code"
    points(found)
    return found


def points(found: Score) -> list[tuple[int, str, int | None]]:
    """The rows of a score, which are held to docs/language.md."""
    assert list(faults(found.summary, LONGEST)) == []
    for part in found.parts:
        # A row is no sentence.
        assert not part.label.endswith(".") and list(faults(f"{part.label}.", LONGEST)) == []
    return [(part.points, part.label, part.line) for part in found.parts]


def documented_parts(heading: str) -> list[tuple[int, str, int | None]]:
    """The parts in the first table of points below a heading of docs/score.md, to the row of their sum."""
    table = DOCUMENTED.partition(f"{heading}\n")[2].partition("| **")[0]
    rows = [row for row in ROW.findall(table) if row[0].lstrip("-").isdigit()]
    return [(int(value), label, int(line) if line else None) for value, label, line, _ in rows]
