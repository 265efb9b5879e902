"""``warplint show`` at a terminal: coloured, as wide as the window, plain under NO_COLOR."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from building import MAIN, CaptureBuilder

SOURCE = "".join(f"value_{number} = compute({'argument, ' * 10}{number})\n" for number in range(8))
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = CaptureBuilder(SOURCE, steps=[0, 1000], window=(0, 1000))
    builder.lines = {MAIN: [(0, 2), (800, 4)]}
    builder.trace.kernel(10, 20, 500, 1)
    return builder.write(tmp_path / "capture")


def show_at_terminal(folder: Path, columns: int, environment: dict[str, str]) -> str:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "warplint", "show", "--capture", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        env={**kept, "TERM": "xterm-256color", **environment},
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            chunk = os.read(controller, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(controller)
    assert process.wait(timeout=60) == 0
    return shown.decode()


@pytest.mark.parametrize("columns", [70, 150])
def test_as_wide_as_the_window_and_the_hottest_line_stands_out(columns: int, folder: Path) -> None:
    text = show_at_terminal(folder, columns, {})
    plain = ESCAPE.sub("", text).splitlines()
    assert max(len(line) for line in plain) <= columns
    hottest = next(line for line in text.splitlines() if "value_1" in ESCAPE.sub("", line))
    assert "\x1b[1;31m" in hottest


def test_no_color_is_plain(folder: Path) -> None:
    assert "\x1b" not in show_at_terminal(folder, 100, {"NO_COLOR": "1"})
