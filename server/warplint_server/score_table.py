"""What a line has to do with its file's score: its parts, and all others in one, so that they add up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warplint_server.measured import literal

if TYPE_CHECKING:
    from warplint.advice.score.file_score import Score

TITLE = "GPU-friendliness of this file"
REST = "everything else"


def markdown_score(score: Score, line: int) -> str:
    """A Markdown table; empty where the line, from 1, has no part."""
    rows = [f"| {literal(label)} | {signed(points)} |" for label, points in _rows(score, line)]
    return "\n".join([f"| {TITLE} | {score.value} |", "|:--|--:|", *rows]) if rows else ""


def plain_score(score: Score, line: int) -> str:
    """The same for a client that shows no Markdown."""
    rows = [f"  {label}: {signed(points)}" for label, points in _rows(score, line)]
    return "\n".join([f"{TITLE}: {score.value}", *rows]) if rows else ""


def signed(points: int) -> str:
    """With its sign, and a real minus."""
    return f"−{-points}" if points < 0 else f"+{points}"


def _rows(score: Score, line: int) -> Iterator[tuple[str, int]]:
    own = [part for part in score.parts if part.line == line]
    for part in own:
        yield part.label, part.points
    if own:
        yield REST, score.value - sum(part.points for part in own)
