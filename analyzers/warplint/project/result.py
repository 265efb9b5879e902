"""What checking one file gave, in a form that crosses from a worker process to the reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warplint.project.notices import Notice
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
    is what standard input holds after fixes; None for what stands in a file.
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

    @property
    def shown_path(self) -> str:
        """The path as it is printed: from the working directory where it is inside, else absolute."""
        return shown(self.path)

    def place(self, offset: int) -> Place:
        """Where a character of ``source`` stands for people."""
        position = self.source.position(offset)
        return Place(position.line, position.column)

    def where(self, offset: int) -> str:
        """Path, line and column, joined by colons."""
        return f"{self.shown_path}:{self.place(offset)}"


def shown(path: Path) -> str:
    working_directory = Path.cwd()
    return str(path.relative_to(working_directory) if path.is_relative_to(working_directory) else path)
