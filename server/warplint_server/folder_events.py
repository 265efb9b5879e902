"""File events from the operating system, through watchdog."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    DirCreatedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from warplint.capture.layout import CAPTURES_DIRECTORY

logger = logging.getLogger(__name__)

# Not FileModifiedEvent: a running capture appends to its files all the time.
EVENTS: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
]


class FolderEvents(FileSystemEventHandler):
    """Tells of files in the captures folders of roots, and in the roots themselves but not below."""

    def __init__(self, changed: Callable[[Path], None]) -> None:
        """``changed`` is called with a path, on a thread of watchdog's. Raises OSError without events."""
        self._changed = changed
        self._observer = Observer()
        self._observer.daemon = True
        self._observer.start()

    def add(self, root: Path) -> None:
        """Raises OSError when the folder cannot be watched."""
        self._observer.schedule(self, str(root), event_filter=EVENTS)
        self._add_captures(root / CAPTURES_DIRECTORY)

    def on_any_event(self, event: FileSystemEvent) -> None:
        for name in {event.src_path, event.dest_path} - {""}:
            path = Path(str(name))
            if isinstance(event, DirCreatedEvent) and path.name == CAPTURES_DIRECTORY:
                self._try_captures(path)
            self._changed(path)

    def _try_captures(self, folder: Path) -> None:
        """On watchdog's thread, which an exception would end."""
        try:
            self._add_captures(folder)
        except OSError as error:
            logger.warning("no file events for %s: %s", folder, error)

    def _add_captures(self, folder: Path) -> None:
        """Watch the folder's captures, if it is there; if not, the root's own events tell when it is made."""
        if folder.is_dir():
            self._observer.schedule(self, str(folder), recursive=True, event_filter=EVENTS)
