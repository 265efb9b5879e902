"""What is wanted of whoever finds and reads a project's files."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from warplint.source.records import dataclass

PACKAGE = "__init__.py"
"""The file that makes a folder a package."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where an imported name leads: a file or a folder, and the names that are left to look up in it.

    ``looked_at`` are the files and folders that this rests on.
    """

    path: Path | None
    rest: tuple[str, ...]
    looked_at: frozenset[Path]


class Files(Protocol):
    """The files of a project."""

    def find(self, importer: Path, target: str) -> Found:
        """Where ``target`` leads that ``importer`` imports; relative names start with dots."""

    def text(self, path: Path) -> str | None:
        """The text of a file; None where it has none that can be used."""
