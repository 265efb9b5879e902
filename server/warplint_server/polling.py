"""Looking at captures folders and configurations every few seconds: it reaches where no file event does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST
from warplint.project.root import PYPROJECT, folders_above
from warplint.project.torch_bounds import FILES


class Poller:
    """Tells of files that were written, made or taken away since the last look. One thread for all roots."""

    def __init__(self, every_s: float, changed: Callable[[Path], None]) -> None:
        """``changed`` is called with a path, on the poller's thread."""
        self._every_s = every_s
        self._changed = changed
        self._seen: dict[Path, dict[Path, int]] = {}
        Thread(target=self._run, name="warplint-poller", daemon=True).start()

    def add(self, root: Path) -> None:
        self._seen[root] = _stamps(root)

    def _run(self) -> None:
        while True:
            time.sleep(self._every_s)
            for root in list(self._seen):
                before, now = self._seen[root], _stamps(root)
                self._seen[root] = now
                for path, _ in before.items() ^ now.items():
                    self._changed(path)


def _stamps(root: Path) -> dict[Path, int]:
    """When each file that matters to a root was last written, in nanoseconds; missing ones are absent."""
    return {path: stamp for path in _files(root) if (stamp := written_ns(path)) is not None}


def _files(root: Path) -> Iterator[Path]:
    for folder in folders_above(root):
        yield folder / PYPROJECT
    for pattern in FILES:
        yield from root.glob(pattern)
    try:
        captures = list((root / CAPTURES_DIRECTORY).iterdir())
    except OSError:
        return
    for capture in captures:
        yield capture / MANIFEST


def written_ns(path: Path) -> int | None:
    """None where there is no such file."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
