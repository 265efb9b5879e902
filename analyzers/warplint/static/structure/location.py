"""What the place of a file within its project says of the findings in it."""

from __future__ import annotations

from pathlib import Path

from warplint.static.finding import Confidence
from warplint.static.tables.side_paths import FILE, FOLDER


def within(path: Path, root: Path | None) -> Path:
    """The path from the project's root; as it is, where it is outside or no root is known.

    The root of the whole disk, which stands for a project without settings, gives the absolute path.
    """
    if root is None:
        return path
    absolute, root = path.absolute(), root.absolute()
    if root == root.parent:
        return absolute
    return absolute.relative_to(root) if absolute.is_relative_to(root) else path


def is_aside(path: Path) -> bool:
    """Whether a file stands beside the program: among tests, documents, conversions, plots."""
    *folders, _ = path.parts or ("",)
    return FILE.fullmatch(path.stem) is not None or any(FOLDER.fullmatch(folder) for folder in folders)


def confidence_in(path: Path, confidence: Confidence) -> Confidence:
    """What is left of a rule's confidence in a file at this path of its project."""
    return Confidence.POSSIBLE if is_aside(path) else confidence
