"""Names of files that hold wherever a capture is opened."""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath, PureWindowsPath


def root_relative(path: str, root: str) -> str:
    """``path`` relative to the project root with forward slashes; as it is, when outside the root.

    Both are of the machine that ran, which need not be this one.
    """
    flavour: type[PurePath] = PureWindowsPath if PureWindowsPath(root).drive else PurePosixPath
    try:
        return flavour(path).relative_to(flavour(root)).as_posix()
    except ValueError:
        return flavour(path).as_posix()
