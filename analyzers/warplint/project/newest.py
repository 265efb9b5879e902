"""The newest capture of a project, opened once for as long as it stays the newest."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warplint.profile.model import Profile


class NewestProfile:
    """Opens the newest capture under ``root`` when first asked for, and again when there is a newer one.

    A capture still being written changes its folder's time with every file, and is then read again. One that
    cannot be read is not tried again until it changes.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._key: tuple[str, int] | None = None
        self._profile: Profile | None = None
        self._error: Exception | None = None

    def get(self) -> Profile | None:
        """The profile; None without a capture. Raises capture.layout.LayoutError."""
        # Imported here because `warplint check` needs none of it.
        from warplint.capture.layout import LayoutError
        from warplint.profile.store import open_profile
        from warplint.project.captures import captures

        with self._lock:
            folder = next(iter(captures(self._root)), None)
            if _key(folder) != self._key:
                self._profile, self._error = None, None
                try:
                    self._profile = open_profile(folder) if folder else None
                except LayoutError as error:
                    self._error = error
                # Opening may write the joined store into the folder: its time is taken afterwards.
                self._key = _key(folder)
            if self._error is not None:
                raise self._error
            return self._profile


def _key(folder: Path | None) -> tuple[str, int] | None:
    """What changes when there is something new to open; None when there is nothing."""
    try:
        return (folder.name, folder.stat().st_mtime_ns) if folder else None
    except FileNotFoundError:
        return None
