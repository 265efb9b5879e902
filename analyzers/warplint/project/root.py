"""Where a project begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = "pyproject.toml"
MARKERS = (PYPROJECT, ".git")


def find_root(start: Path) -> Path:
    """The nearest folder at or above ``start`` with a pyproject.toml or .git; else ``start``'s own folder."""
    return project_root(start) or next(folders_above(start))


def project_root(start: Path) -> Path | None:
    """The nearest folder at or above ``start`` with a pyproject.toml or .git, if there is one."""
    for folder in folders_above(start):
        if any((folder / marker).exists() for marker in MARKERS):
            return folder
    return None


def folders_above(start: Path) -> Iterator[Path]:
    """``start`` itself if it is a folder, else the folder it is in, then each parent; absolute paths."""
    absolute = Path(os.path.normpath(start.absolute()))
    folder = absolute if absolute.is_dir() else absolute.parent
    yield folder
    yield from folder.parents
