"""A long run says on a terminal which file it is at, and nothing anywhere else."""

from __future__ import annotations

import io
import os
import pty
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from warplint.commands.check.progress import with_progress
from warplint.project.config import Config
from warplint.project.files import Target
from warplint.project.result import FileResult
from warplint.source.text import SourceText

NAMES = ("quick.py", "slow.py", "last.py")
SLOW_S = 1.0


def targets() -> list[Target]:
    return [Target(Path.cwd() / name, Config(Path.cwd())) for name in NAMES]


def results() -> Iterator[FileResult]:
    for target in targets():
        if target.path.name == "slow.py":
            time.sleep(SLOW_S)
        yield FileResult(target.path, SourceText("", target.path))


def on_a_terminal(after_s: float) -> str:
    """What a terminal gets of a run that prints a line for each result."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        for result in with_progress(targets(), results(), terminal, after_s):
            print(f"{result.path.name} is done", file=terminal, flush=True)
        written = b""
        while not written.endswith(b"last.py is done\r\n"):
            written += os.read(ours, 100_000)
    os.close(ours)
    return written.decode()


def test_the_file_that_is_waited_for_is_named_and_gone_before_the_next_line() -> None:
    written = on_a_terminal(after_s=0.2)
    quick, slow, last = written.split(" is done\r\n")[:3]
    assert quick == "quick.py"
    assert slow.startswith("\rChecking file 2 of 3: slow.py\033[K") and slow.endswith("\r\033[Kslow.py")
    assert last == "last.py"


def test_a_short_run_says_nothing() -> None:
    assert on_a_terminal(after_s=2 * SLOW_S) == "".join(f"{name} is done\r\n" for name in NAMES)


def test_a_name_that_is_longer_than_the_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "28")
    assert "Checking file 2 of 3: …w.py\033[K" in on_a_terminal(after_s=0.2).split("\r")


def test_a_pipe_gets_nothing() -> None:
    pipe = io.StringIO()
    assert [result.path.name for result in with_progress(targets(), results(), pipe, 0.1)] == list(NAMES)
    assert pipe.getvalue() == ""
