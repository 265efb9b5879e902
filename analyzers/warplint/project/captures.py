"""The captures of a project."""

from __future__ import annotations

from pathlib import Path

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST


def captures(root: Path) -> list[Path]:
    """The capture folders under ``root``, newest first: their names begin with the time in UTC."""
    try:
        folders = [entry for entry in (root / CAPTURES_DIRECTORY).iterdir() if (entry / MANIFEST).is_file()]
    except OSError:
        return []
    return sorted(folders, key=lambda folder: folder.name, reverse=True)
