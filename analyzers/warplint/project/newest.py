"""The newest capture of a project, opened once for as long as it stays the newest."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warplint.profile.model import Profile


class NewestProfile:
    """Opens the newest capture under ``root`` when first asked for, and again when there is a newer one.

    One that is still being written is opened again when its files have grown; one that cannot be read is not
    tried again before that.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._state: tuple[str, dict[str, int]] | None = None
        self._profile: Profile | None = None
        self._error: Exception | None = None

    def get(self) -> Profile | None:
        """The profile; None without a capture. Raises capture.layout.LayoutError."""
        # Imported here because `warplint check` needs none of it.
        from warplint.capture.layout import LayoutError
        from warplint.profile.store import captured_sizes, open_profile
        from warplint.project.captures import captures

        with self._lock:
            folder = next(iter(captures(self._root)), None)
            # Taken before opening: what is written meanwhile makes another state, and is not missed.
            state = (folder.name, captured_sizes(folder)) if folder else None
            if state != self._state:
                self._profile, self._error = None, None
                try:
                    self._profile = open_profile(folder) if folder else None
                except LayoutError as error:
                    self._error = error
                self._state = state
            if self._error is not None:
                raise self._error
            return self._profile
