"""Which file a long run is at, in one line of the terminal that goes when there is something else to say."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from warplint.project.files import Target, Unreadable
from warplint.project.result import FileResult, shown

SHOWN_AFTER_S = 3.0
"""Most runs are over by then, and nobody has begun to wonder."""
SHOWN_EVERY_S = 0.5
START_OF_LINE, CLEAR_LINE = "\r", "\033[K"


def with_progress(
    items: Sequence[Target | Unreadable],
    results: Iterable[FileResult],
    stream: TextIO | None = None,
    after_s: float = SHOWN_AFTER_S,
) -> Iterator[FileResult]:
    """Pass results on, one of each item in its order; a terminal is told which one is waited for."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield from results
        return
    line = _Line([shown(item.path) for item in items], stream, after_s)
    try:
        for result in results:
            line.hide()
            yield result
            line.next()
    finally:
        line.end()


class _Line:
    """Drawn by a thread of its own, unless it is hidden."""

    def __init__(self, names: Sequence[str], stream: TextIO, after_s: float) -> None:
        self._names = names
        self._stream = stream
        self._after_s = after_s
        self._at = 0
        self._is_hidden = False
        self._drawn = ""
        self._turn = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw_until_the_end, daemon=True)
        self._thread.start()

    def hide(self) -> None:
        with self._turn:
            self._is_hidden = True
            if self._drawn:
                self._write(f"{START_OF_LINE}{CLEAR_LINE}")
            self._drawn = ""

    def next(self) -> None:
        with self._turn:
            self._at += 1
            self._is_hidden = self._at == len(self._names)

    def end(self) -> None:
        self.hide()
        self._ended.set()
        self._thread.join()

    def _draw_until_the_end(self) -> None:
        wait_s = self._after_s
        while not self._ended.wait(wait_s):
            wait_s = SHOWN_EVERY_S
            with self._turn:
                if not self._is_hidden and self._drawn != (text := self._text()):
                    self._write(f"{START_OF_LINE}{text}{CLEAR_LINE}")
                    self._drawn = text

    def _text(self) -> str:
        """Of a name that is too long for the terminal, its end is of more use."""
        before = f"Checking file {self._at + 1:,} of {len(self._names):,}: "
        room = shutil.get_terminal_size().columns - len(before) - 1
        name = self._names[self._at]
        return before + (name if len(name) <= room else f"…{name[len(name) - max(room - 1, 0) :]}")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
