"""Opens a capture: from the store in its folder, which whoever comes first makes from the raw files."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from warplint.capture.layout import STORE, LayoutError, RunManifest
from warplint.profile.database import DatabaseError, Owner, owner_of, read_database, write_database
from warplint.profile.imported.costs import join_imported
from warplint.profile.join import join
from warplint.profile.model import Profile

_PART = ".part"


def open_profile(folder: Path) -> Profile:
    """The costs of a capture folder.

    Made from the raw files when there is no store, or one of an older release, or the raw files have grown
    since. A file at the store's place that is not ours is left alone, and so is a newer release's; then, and
    in a folder that cannot be written, the profile lives in memory only. Raises capture.layout.LayoutError.
    """
    RunManifest.read(folder)
    stored = _stored(folder)
    if stored is not None:
        return stored
    with _lock(folder):
        # Whoever held the lock before us may have made it.
        stored = _stored(folder)
        return stored if stored is not None else _make(folder)


def _stored(folder: Path) -> Profile | None:
    """The stored profile, unless it is missing, damaged, not ours to read, or older than the raw files."""
    path = folder / STORE
    if owner_of(path) is not Owner.OURS:
        return None
    try:
        profile, captured = read_database(path)
    except DatabaseError:
        return None
    # Raw files may be deleted to save room; only one that is new or has grown makes the store old.
    return profile if captured_sizes(folder).items() <= captured.items() else None


def _make(folder: Path) -> Profile:
    captured = captured_sizes(folder)
    manifest = RunManifest.read(folder)
    profile = join_imported(folder, manifest) if manifest.imported else join(folder)
    owner = owner_of(folder / STORE)
    if owner in (Owner.FOREIGN, Owner.OURS_NEWER):
        whose = "a newer Warplint" if owner is Owner.OURS_NEWER else "something else"
        profile.notes.append(f"{STORE} in the folder was written by {whose} and is left alone")
        return profile
    try:
        _write(folder, profile, captured)
    except (OSError, sqlite3.Error) as error:
        profile.notes.append(f"the joined costs could not be stored beside the capture: {error}")
    return profile


def save(folder: Path, profile: Profile) -> None:
    """Store what the folder's profile is, made by other means. Raises OSError."""
    try:
        _write(folder, profile, captured_sizes(folder))
    except sqlite3.Error as error:
        raise OSError(errno.EIO, str(error), str(folder / STORE)) from error


def _write(folder: Path, profile: Profile, captured: dict[str, int]) -> None:
    for left_behind in folder.glob(f"{STORE}.*{_PART}"):
        left_behind.unlink()
    part = folder / f"{STORE}.{os.getpid()}{_PART}"
    try:
        write_database(part, profile, captured)
        part.replace(folder / STORE)
    finally:
        part.unlink(missing_ok=True)


def captured_sizes(folder: Path) -> dict[str, int]:
    """Bytes of each file that a profile is made from, by name. Raises LayoutError when there is no folder."""
    try:
        return {
            entry.name: entry.stat().st_size
            for entry in folder.iterdir()
            # Parts are renamed at any moment, by us and by capture.
            if not entry.name.startswith((STORE, ".")) and entry.suffix != _PART and entry.is_file()
        }
    except OSError as error:
        raise LayoutError(f"{folder} cannot be read: {error.strerror or error}") from None


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold the folder, so that it is joined once when several open it at the same time.

    The system drops the lock with its holder. Where it cannot be had (Windows, some network file systems) the
    work may be done twice; the result is the same, and renamed into place whole.
    """
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
