"""Where captures are kept: ``<root>/.warplint/<utc>-<name>/``, the last few of them."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import BinaryIO

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST, LayoutError, RunManifest, newest_first

KEPT = 10
LOCK = "in-use"
"""A file that ``warplint run`` holds a lock on while it lives; the system lets go of it however it dies."""


def new_capture_folder(root: Path, name: str) -> Path:
    """Make an empty folder for a capture that begins now. Raises OSError."""
    captures = root / CAPTURES_DIRECTORY
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    for folder in _candidates(captures / f"{stamp}-{_safe(name)}"):
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
            return folder
    raise AssertionError("the candidates never end")


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """While this lasts nobody prunes the folder. Raises OSError."""
    with (folder / LOCK).open("wb") as stream:
        _lock(stream)
        yield


def prune(root: Path, kept: int = KEPT) -> None:
    """Delete all but the newest captures: only folders that hold one, and that nobody is writing."""
    with suppress(OSError):
        ours = newest_first(filter(_is_capture, (root / CAPTURES_DIRECTORY).iterdir()))
        for folder in ours[kept:]:
            if not _is_in_use(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _candidates(first: Path) -> Iterator[Path]:
    yield first
    number = 2
    while True:
        yield first.with_name(f"{first.name}-{number}")
        number += 1


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"


def _is_capture(folder: Path) -> bool:
    if folder.is_symlink() or not (folder / MANIFEST).is_file():
        return False
    try:
        RunManifest.read(folder)
    except LayoutError:
        return False
    return True


def _is_in_use(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("rb+") as stream:
            _lock(stream)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _lock(stream: BinaryIO) -> None:
    """Raises OSError when another process holds it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
