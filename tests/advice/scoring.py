"""Scoring texts, and what is wanted of a score's parts."""

from __future__ import annotations

from pathlib import Path

from warplint.advice.score import Score, score
from warplint.project.config import Config
from warplint.project.engine import Checked, Engine
from warplint.source.text import SourceText

ENGINE = Engine(Path("/"), Config(Path("/")))


def source(text: str) -> SourceText:
    return SourceText(text, Path("/program.py"))


def checked(text: str, previous: Checked | None = None) -> Checked:
    return ENGINE.check(source(text), previous)


def scored(text: str, previous: Checked | None = None) -> Score:
    """The score of a text that must have one."""
    found = score(checked(text, previous))
    assert found is not None, "the text has no GPU code"
    return found


def points(found: Score) -> list[tuple[int, str, int | None]]:
    return [(part.points, part.label, part.line) for part in found.parts]
