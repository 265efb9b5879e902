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
        self._writing = False
        """Whoever finds it so interrupts a write, whose file is not to be closed under it."""

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
        """Raises OSError."""
        with self._lock:
            writer, self._writer = self._writer, None
            if writer is not None and not self._writing:
                writer.close()

    def abandon(self) -> None:
        """Write no more: after a fork the file belongs to the parent.

        Takes no lock, which a thread that the fork did not copy may hold forever.
        """
        writer, self._writer = self._writer, None
        if writer is not None:
            _close(writer)
        self._lock = threading.RLock()
        self._writing = False

    def _write(self, write: Callable[[RawWriter], None]) -> None:
        failure: OSError | ValueError | None = None
        with self._lock:
            writer, interrupts = self._writer, self._writing
            if writer is None:
                return
            try:
                self._writing = True
                write(writer)
            except (OSError, ValueError) as error:
                # Whoever let go of the file while this wrote has said why.
                if self._writer is writer:
                    failure = error
                    self.failed = True
                    self._writer = None
            finally:
                self._writing = interrupts
                if self._writer is not writer and not interrupts:
                    _close(writer)
        if failure is not None:
            self._tell(failure)

    def _tell(self, failure: OSError | ValueError) -> None:
        why = getattr(failure, "strerror", None) or failure
        terminal.say(f"the capture stops here, the program goes on: {self.path}: {why}")
        self._on_failure()


def _close(writer: RawWriter) -> None:
    """Python would tell the program of a file that was not closed, if it asks for such warnings."""
    with suppress(OSError):
        writer.close()
