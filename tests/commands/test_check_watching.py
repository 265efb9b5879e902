"""``warplint check --watch``: checked again after changes, and only then."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine
from samples import CLEAN, SAFE

LONGEST_WAIT_S = 60
QUIET_S = 3


class Watching:
    """A run that goes on; what it prints, line by line."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "warplint", "check", "--watch", "--format", "concise", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def run(self) -> list[str]:
        """The lines of one run, without the one that says that it waits."""
        lines: list[str] = []
        while not (line := self._lines.get(timeout=LONGEST_WAIT_S)).startswith("Watching"):
            lines.append(line)
        return lines

    def until(self, start: str) -> None:
        """Wait for a run with a line that starts like this; a change in two steps may be two runs."""
        while not any(line.startswith(start) for line in self.run()):
            pass

    def is_quiet(self) -> bool:
        try:
            self._lines.get(timeout=QUIET_S)
        except queue.Empty:
            return True
        return False


@pytest.fixture
def watching(warplint: CommandLine) -> Iterator[Watching]:
    warplint.write("pyproject.toml", "")
    warplint.write("pkg/net.py", CLEAN)
    run = Watching(warplint.folder)
    yield run
    run.process.kill()
    run.process.wait()


def test_a_change_is_checked_and_nothing_else_wakes_it(warplint: CommandLine, watching: Watching) -> None:
    assert watching.run() == ["No findings in 1 file.\n"]
    # The first run has written its cache meanwhile.
    assert watching.is_quiet()
    warplint.write("pkg/net.py", SAFE)
    watching.until("pkg/net.py:7:17: WL101 ")
    assert watching.is_quiet()
    warplint.write("pkg/notes.txt", "x")
    assert watching.is_quiet()
    warplint.write("pyproject.toml", "[tool.warplint]\nignore = ['WL1']\n")
    watching.until("No findings in 1 file.")
    warplint.write("pyproject.toml", "[tool.warplint]\nnope = 1\n")
    watching.until(
        f"warplint: error: {warplint.folder / 'pyproject.toml'}: [tool.warplint] has no key 'nope'"
    )
    warplint.write("pyproject.toml", "")
    watching.until("pkg/net.py:7:17: WL101 ")
    warplint.write("pkg/more.py", SAFE)
    watching.until("pkg/more.py:7:17: WL101 ")
    watching.process.send_signal(signal.SIGINT)
    assert watching.process.wait(timeout=LONGEST_WAIT_S) == 0


@pytest.mark.parametrize("more", [["-"], ["-o", "x.txt"], ["--baseline", "x.json", "--write-baseline"]])
def test_what_cannot_be_watched_is_refused(warplint: CommandLine, more: list[str]) -> None:
    done = warplint("check", "--watch", *more, stdin="")
    assert done.returncode == 2 and "--watch checks files time and again" in done.stderr
