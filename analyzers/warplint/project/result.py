"""What checking one file gave, in a form that crosses from a worker process to the reports."""

from __future__ import annotations

import bisect
from pathlib import Path

from warplint.project.notices import Notice
from warplint.source.records import dataclass
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Finding


@dataclass(frozen=True, slots=True)
class Place:
    """A line and column as they are printed, both from 1; in a notebook those of a cell, also from 1."""

    line: int
    column: int
    cell: int | None = None

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}"
        return place if self.cell is None else f"cell {self.cell}:{place}"


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file after checking, and fixing where that was asked for.

    ``source`` is the text that the findings' spans count in: after fixes. ``original`` is the text before
    them, where it differs. ``fixed`` counts the findings mended. ``error`` says in a sentence what went wrong
    in Warplint itself, or kept a fix from being written; ``traceback`` is then for its developers. ``bytes``
    is what standard input holds after fixes; None for what stands in a file. In a notebook ``cells`` are the
    lines of ``source`` above each cell, with the cell's number. ``rule_seconds`` are how long rules took, by
    code, where that was measured.
    """

    path: Path
    source: SourceText
    findings: tuple[Finding, ...] = ()
    notices: tuple[Notice, ...] = ()
    fixed: int = 0
    original: SourceText | None = None
    error: str | None = None
    traceback: str | None = None
    bytes: bytes | None = None
    cells: tuple[tuple[int, int], ...] = ()
    rule_seconds: tuple[tuple[str, float], ...] = ()

    @property
    def shown_path(self) -> str:
        """The path as it is printed: from the working directory where it is inside, else absolute."""
        return shown(self.path)

    def place(self, offset: int) -> Place:
        """Where a character of ``source`` stands for people."""
        position = self.source.position(offset)
        if not self.cells:
            return Place(position.line, position.column)
        index = self._cell_index(position.line)
        above, number = self.cells[index]
        return Place(position.line - above, position.column, number)

    def excerpt(self, span: Span) -> tuple[SourceText, Span]:
        """The text to show round a range, and the range in it: the file, or in a notebook the cell."""
        if not self.cells:
            return self.source, span
        index = self._cell_index(self.source.position(span.start).line)
        starts = self.source.line_starts
        start = starts[self.cells[index][0]]
        following = self.cells[index + 1 : index + 2]
        end = starts[following[0][0] - 1] - 1 if following else len(self.source.text)
        cell = SourceText(self.source.text[start:end], self.path)
        return cell, Span(span.start - start, min(span.end, end) - start)

    def _cell_index(self, line: int) -> int:
        """Which of ``cells`` a line stands in; the line above a cell counts to the one before it."""
        return max(bisect.bisect_left(self.cells, (line, 0)) - 1, 0)

    def where(self, offset: int) -> str:
        """Path, line and column, joined by colons."""
        return f"{self.shown_path}:{self.place(offset)}"


def shown(path: Path) -> str:
    working_directory = Path.cwd()
    return str(path.relative_to(working_directory) if path.is_relative_to(working_directory) else path)
