"""Scores for people: each file's number, and the parts that add up to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from warplint.advice.score.file_score import Score
from warplint.advice.score.workspace_score import WorkspaceScore
from warplint.project.result import FileResult
from warplint.report.figures import counted
from warplint.report.style import Style


@dataclass(frozen=True, slots=True)
class Scored:
    """A file and its score; ``result`` tells its places."""

    result: FileResult
    score: Score

    def place(self, line: int) -> str:
        """Where a line of the score's text stands."""
        place = self.result.place(self.result.source.line_starts[line - 1])
        cell = "" if place.cell is None else f"cell {place.cell}:"
        return f"{self.result.shown_path}:{cell}{place.line}"


def render(files: Sequence[Scored], together: WorkspaceScore | None, style: Style) -> Iterator[str]:
    """A block of lines for each file, and one for all; of one file it would say the same again."""
    if together is None:
        yield "No file that was read has GPU code, so there is no score.\n"
        return
    for each in files:
        yield from _block(each, style)
    if len(files) > 1:
        bands = ", ".join(f"{number} {band.value}" for band, number in together.bands.items() if number)
        yield f"{style.strong(f'workspace: {together.value} of 100, {together.band.value}.')} "
        yield f"{counted(sum(together.bands.values()), 'file')}: {bands}.\n"
        scored = {each.result.shown_path: each for each in files}
        for part in together.parts:
            at = None if part.file is None else scored[part.file]
            yield _row(part.points, part.label, at, part.line)


def _block(scored: Scored, style: Style) -> Iterable[str]:
    score = scored.score
    head = f"{scored.result.shown_path}: {score.value} of 100, {score.band.value}."
    yield f"{style.strong(head)} {score.summary}\n"
    for part in score.parts:
        yield _row(part.points, part.label, scored, part.line)
    yield "\n"


def _row(points: int, label: str, scored: Scored | None, line: int | None) -> str:
    place = "" if scored is None or line is None else f"  {scored.place(line)}"
    return f"{points:5}  {label}{place}\n"
