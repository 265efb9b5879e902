"""The captures of a project."""

from __future__ import annotations

from pathlib import Path

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST, newest_first


def captures(root: Path) -> list[Path]:
    """The capture folders under ``root``, newest first."""
    try:
        folders = [entry for entry in (root / CAPTURES_DIRECTORY).iterdir() if (entry / MANIFEST).is_file()]
    except OSError:
        return []
    return newest_first(folders)
