"""The newest capture of a project that measured something, opened once for as long as it stays that."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.source.records import dataclass

if TYPE_CHECKING:
    from warplint.capture.layout import LayoutError
    from warplint.profile.model import Profile


@dataclass(frozen=True, slots=True)
class _Opened:
    """What came of opening a capture when its files had these sizes."""

    sizes: dict[str, int]
    profile: Profile | None = None
    error: LayoutError | None = None


class NewestProfile:
    """Opens the newest capture under ``root`` when first asked for, and again when there is a newer one.

    A run that has measured nothing, or not yet, does not take the place of the one before it; nor does one
    that cannot be read. One that is still being written is opened again when its files have grown; one that
    cannot be read is not tried again before that.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self.passed_over: tuple[LayoutError, ...] = ()
        """Why newer captures than the one that was got last could not be read."""

    def get(self) -> Profile | None:
        """The profile; None without a capture. Raises capture.layout.LayoutError when none can be read."""
        # Imported here because `warplint check` needs none of it.
        from warplint.project.captures import captures

        with self._lock:
            before, self._opened = self._opened, {}
            empty = None
            errors: list[LayoutError] = []
            for folder in captures(self._root):
                opened = self._opened[folder.name] = _open(folder, before.get(folder.name))
                if opened.error is not None:
                    errors.append(opened.error)
                elif opened.profile is not None and opened.profile.lines:
                    self.passed_over = tuple(errors)
                    return opened.profile
                else:
                    empty = empty or opened.profile
            self.passed_over = tuple(errors)
            if errors and empty is None:
                raise errors[0]
            return empty


def _open(folder: Path, before: _Opened | None) -> _Opened:
    """Open a capture, unless its files are as they were ``before``."""
    from warplint.capture.layout import LayoutError
    from warplint.profile import store

    sizes: dict[str, int] = {}
    try:
        # Taken before opening: what is written meanwhile makes other sizes, and is not missed.
        sizes = store.captured_sizes(folder)
        if before is not None and before.sizes == sizes:
            return before
        return _Opened(sizes, store.open_profile(folder))
    except LayoutError as error:
        return _Opened(sizes) if _has_only_begun(folder) else _Opened(sizes, error=error)


def _has_only_begun(folder: Path) -> bool:
    """Whether the run has not come to what could be captured: that is no fault of the capture."""
    from warplint.capture.layout import RAW_SUFFIX, LayoutError, RunManifest

    try:
        return RunManifest.read(folder).finished is None and not any(folder.glob(f"*{RAW_SUFFIX}"))
    except LayoutError:
        return False
