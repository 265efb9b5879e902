"""One process's raw file while it is written. Writing never raises into the user's program."""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from warplint.capture import terminal
from warplint.capture.layout import RawWriter, Record

INFO = "info"
WARNING = "warning"


class Recorder:
    """Records for one raw file, from any thread.

    The first write that fails (a full disk, a folder that is gone) ends the recording for good: it is said on
    the terminal, ``failed`` is set and ``on_failure`` called; complete records stay readable.
    """

    def __init__(self, path: Path, on_failure: Callable[[], None]) -> None:
        """Raises OSError when the file cannot be created."""
        self.path = path
        self.pid = os.getpid()
        self.failed = False
        self._writer: RawWriter | None = RawWriter(path)
        self._on_failure = on_failure
        # Reentrant: a signal handler of the program's may come here while it interrupts a write.
        self._lock = threading.RLock()

    def json(self, record: Record, value: object) -> None:
        self._write(lambda writer: writer.write_json(record, value))

    def note(self, level: str, code: str, text: str) -> None:
        self.json(Record.NOTE, {"level": level, "code": code, "text": text})

    def lines(self, thread: int, events: array[int]) -> None:
        self._write(lambda writer: writer.write_lines(thread, events))

    def layer_calls(self, thread: int, events: array[int]) -> None:
        self._write(lambda writer: writer.write_layer_calls(thread, events))

    def steps(self, events: array[int]) -> None:
        self._write(lambda writer: writer.write_steps(events))

    def step_buckets(self, buckets: array[int]) -> None:
        self._write(lambda writer: writer.write_step_buckets(buckets))

    def source(self, identifier: int, path: str, digest: str, text: str) -> None:
        self._write(lambda writer: writer.write_source(identifier, path, digest, text))

    def close(self) -> None:
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def abandon(self) -> None:
        """Write no more: after a fork the file belongs to the parent.

        Takes no lock, which a thread that the fork did not copy may hold forever.
        """
        self._let_go()
        self._lock = threading.RLock()

    def _let_go(self) -> None:
        """Python would tell the program of a file that was not closed, if it asks for such warnings."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(OSError):
                writer.close()

    def _write(self, write: Callable[[RawWriter], None]) -> None:
        try:
            with self._lock:
                if self._writer is None:
                    return
                write(self._writer)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failed = True
        self._let_go()
        terminal.say(f"the capture stops here, the program goes on: {self.path}: {error.strerror or error}")
        self._on_failure()
