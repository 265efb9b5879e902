"""Runs ``warplint run`` with redirected output at a terminal, as in ``warplint run … > log``."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import termios
from pathlib import Path

import programs


def run_at_terminal(
    root: Path, *words: str, environment: dict[str, str] | None = None
) -> tuple[programs.Run, str]:
    """The finished run, its standard output and error through pipes, and what the terminal showed."""
    controller, terminal = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    process = programs.start(
        root, *words, environment=environment, preexec_fn=take_terminal, pass_fds=(terminal,)
    )
    os.close(terminal)
    done = programs.finish(process, root)
    shown = _read_all(controller)
    os.close(controller)
    return done, shown


def _read_all(controller: int) -> str:
    shown = b""
    while select.select([controller], [], [], 0.2)[0]:
        try:
            chunk = os.read(controller, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    return shown.decode().replace("\r\n", "\n")
