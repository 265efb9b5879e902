"""Speaks to the person at the terminal, and to nobody else.

The program's own output must reach files and pipes byte for byte as without us, so what we say goes to
standard error only when that is a terminal, else to the controlling terminal, else nowhere.
"""

from __future__ import annotations

import contextlib
import os
import sys

PREFIX = "warplint: "


def say(*lines: str) -> None:
    """Write lines to the terminal, if there is one."""
    text = "".join(f"{PREFIX}{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    # A terminal may vanish at any moment (a dropped connection): then nobody is left to tell.
    with contextlib.suppress(OSError):
        if _is_terminal(2):
            os.write(2, text)
        elif sys.platform != "win32":
            _write_to_controlling_terminal(text)


def present() -> bool:
    """Whether ``say`` reaches somebody."""
    if _is_terminal(2):
        return True
    try:
        os.close(os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _write_to_controlling_terminal(text: bytes) -> None:
    terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    try:
        os.write(terminal, text)
    finally:
        os.close(terminal)


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
