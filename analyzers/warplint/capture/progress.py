"""How far a run is, for whoever started ``warplint run --progress FILE``: a JSON line at each stage.

``started`` and ``finished`` are written by ``warplint run``, the rest by the captured process. What the lines
hold stands in ``docs/running.md``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from warplint.capture.settings import Settings

WAITING_EVERY_NS = 1_000_000_000
SPEAKER = "progress"
"""A file in the capture's folder, made by the process that tells its progress."""
# A named pipe that nobody reads must not stop the program.
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)


def append(file: str, state: str, **details: object) -> None:
    """Append one line. Raises OSError."""
    line = json.dumps({"state": state, **details}, separators=(",", ":")).encode() + b"\n"
    descriptor = os.open(file, FLAGS, 0o666)
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    finally:
        os.close(descriptor)


class Progress:
    """The captured process's part; of several processes, that of rank 0 which makes the first step.

    Never raises. The first line that cannot be written is the last: ``warplint run`` writes to the same file
    when the program has ended, and says what is wrong with it.
    """

    def __init__(self, settings: Settings, rank: int) -> None:
        self._file = settings.progress if rank == 0 else None
        self._claim = Path(settings.folder) / SPEAKER
        self._claimed = False
        self._next_ns = 0
        """When ``waiting`` may be told again."""

    def waiting(self, steps: int, t_ns: int) -> None:
        """``steps`` were made and no window is open. Told at most once a second."""
        if t_ns >= self._next_ns and self._file is not None:
            self._next_ns = t_ns + WAITING_EVERY_NS
            self._tell("waiting", steps=steps)

    def capturing(self, steps: int) -> None:
        """A window opens that is to hold ``steps``."""
        self._tell("capturing", steps=steps)

    def captured(self) -> None:
        """A window is written."""
        self._tell("captured")

    def _tell(self, state: str, **details: object) -> None:
        if self._file is None:
            return
        try:
            if not self._claimed:
                self._claim.touch(exist_ok=False)
                self._claimed = True
            append(self._file, state, **details)
        except OSError:
            self._file = None
