"""A long run says on a terminal which file it is at, and nothing anywhere else."""

from __future__ import annotations

import io
import os
import pty
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warplint.commands.check.progress import with_progress
from warplint.project.config import Config
from warplint.project.files import Target
from warplint.project.result import FileResult
from warplint.source.text import SourceText

NAMES = ("quick.py", "slow.py", "last.py")
SLOW_S = 1.0
NAMED = b"w.py\033[K"
"""How a line ends that names the slow file, cut or not."""
LONGEST_S = 60.0
"""No machine is so busy that a line takes longer to be drawn."""


class Terminal:
    """A terminal, with what has been written on it so far."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")
        self.written = b""

    def read_until(self, text: bytes) -> None:
        while text not in self.written:
            assert select.select([self._ours], [], [], LONGEST_S)[0], f"{text!r} is not in {self.written!r}"
            self.written += os.read(self._ours, 100_000)

    def close(self) -> None:
        self.stream.close()
        os.close(self._ours)


def targets() -> list[Target]:
    return [Target(Path.cwd() / name, Config(Path.cwd())) for name in NAMES]


def results(take_long: Callable[[], None]) -> Iterator[FileResult]:
    for target in targets():
        if target.path.name == "slow.py":
            take_long()
        yield FileResult(target.path, SourceText("", target.path))


def sleep() -> None:
    time.sleep(SLOW_S)


def on_a_terminal(after_s: float, is_named: bool) -> str:
    """What a terminal gets of a run that prints a line for each result.

    The slow one comes once it is named, or after a while.
    """
    terminal = Terminal()
    take_long = (lambda: terminal.read_until(NAMED)) if is_named else sleep
    try:
        for result in with_progress(targets(), results(take_long), terminal.stream, after_s):
            print(f"{result.path.name} is done", file=terminal.stream, flush=True)
        terminal.read_until(b"last.py is done\r\n")
        return terminal.written.decode()
    finally:
        terminal.close()


def test_the_file_that_is_waited_for_is_named_and_gone_before_the_next_line() -> None:
    written = on_a_terminal(after_s=SLOW_S, is_named=True)
    quick, slow, last = written.split(" is done\r\n")[:3]
    assert quick == "quick.py"
    assert slow.startswith("\rChecking file 2 of 3: slow.py\033[K") and slow.endswith("\r\033[Kslow.py")
    assert last == "last.py"


def test_a_short_run_says_nothing() -> None:
    assert on_a_terminal(after_s=2 * SLOW_S, is_named=False) == "".join(
        f"{name} is done\r\n" for name in NAMES
    )


def test_a_name_that_is_longer_than_the_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "28")
    assert "Checking file 2 of 3: …w.py\033[K" in on_a_terminal(after_s=0.2, is_named=True).split("\r")


def test_a_pipe_gets_nothing() -> None:
    pipe = io.StringIO()
    found = with_progress(targets(), results(sleep), pipe, 0.1)
    assert [result.path.name for result in found] == list(NAMES)
    assert pipe.getvalue() == ""
