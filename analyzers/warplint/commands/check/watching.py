"""``warplint check --watch``: once now, and again whenever a file changes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from watchdog.events import (
    EVENT_TYPE_CREATED,
    EVENT_TYPE_DELETED,
    EVENT_TYPE_MODIFIED,
    EVENT_TYPE_MOVED,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from warplint.project.cache import CACHE_DIRECTORY
from warplint.project.files import SUFFIXES
from warplint.project.gitignore import GITIGNORE
from warplint.project.torch_bounds import may_bound

CHANGES = frozenset({EVENT_TYPE_CREATED, EVENT_TYPE_DELETED, EVENT_TYPE_MODIFIED, EVENT_TYPE_MOVED})
GONE = frozenset({EVENT_TYPE_DELETED, EVENT_TYPE_MOVED})
SETTLED_S = 0.1
"""An editor that saves, or a checkout, touches several files at once."""

CLEAR_SCREEN = "\033[H\033[2J"


def watch(paths: Iterable[Path], check: Callable[[], object]) -> None:
    """Call ``check`` now and after each change below ``paths``, until the user interrupts."""
    changed = threading.Event()
    observer = Observer()
    for folder in {path if path.is_dir() else path.parent for path in paths}:
        absolute = folder.absolute()
        observer.schedule(_Changes(absolute, changed), str(absolute), recursive=True)
    observer.start()
    try:
        while True:
            changed.clear()
            if sys.stdout.isatty():
                print(CLEAR_SCREEN, end="")
            check()
            print("Watching for changes; Ctrl-C ends it.", file=sys.stderr, flush=True)
            sys.stdout.flush()
            # In pieces, since a wait without an end cannot be interrupted everywhere.
            while not changed.wait(1):
                pass
            time.sleep(SETTLED_S)
    except KeyboardInterrupt:
        return
    finally:
        observer.stop()
        observer.join()


class _Changes(FileSystemEventHandler):
    """Says that something below a folder changed which can change what is found."""

    def __init__(self, folder: Path, changed: threading.Event) -> None:
        self._folder = folder
        self._changed = changed

    def on_any_event(self, event: FileSystemEvent) -> None:
        names = filter(None, (str(event.src_path), str(event.dest_path)))
        if event.event_type in (GONE if event.is_directory else CHANGES) and any(map(self._matters, names)):
            self._changed.set()

    def _matters(self, name: str) -> bool:
        """Not what tools keep for themselves, Warplint's cache among it: checking writes there."""
        path = Path(name)
        inside = path.relative_to(self._folder) if path.is_relative_to(self._folder) else path
        if any(part.startswith(".") for part in inside.parts[:-1]) or inside.name == CACHE_DIRECTORY:
            return False
        decides = path.name == GITIGNORE or may_bound(path.name)
        return decides or path.suffix in SUFFIXES or not path.suffix
