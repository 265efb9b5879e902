"""Starts the user's command for a capture and stands aside: same signals, same exit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from warplint.capture.group_signals import Witness
from warplint.capture.settings import VARIABLE, Settings

BOOTSTRAP = Path(__file__).parent / "bootstrap"
TERMINALS = ("SIGINT", "SIGQUIT")
"""A terminal sends these to the whole group."""
FORWARDED = (*TERMINALS, "SIGTERM", "SIGHUP")
"""What the program gets of us, unless it got it with the group."""
NOT_FOUND = 127
NOT_EXECUTABLE = 126


def environment_for(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, plus our settings and one entry before PYTHONPATH."""
    path = environment.get("PYTHONPATH")
    entries = [str(BOOTSTRAP), *([path] if path else [])]
    return {**environment, VARIABLE: settings.dump(), "PYTHONPATH": os.pathsep.join(entries)}


def run(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run to the end. Returns the exit code, or minus the signal that killed it. Raises OSError."""
    waiting: list[int] = []
    child: subprocess.Popen[bytes] | None = None
    witness: Witness | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        if child is None:
            waiting.append(number)
        elif not _has_got(child, number, witness):
            child.send_signal(number)

    # Handlers and not SIG_IGN, which the child would inherit. A signal ignored from outside (nohup) stays so.
    before: dict[int, Any] = {}
    for name in FORWARDED:
        signal_number = getattr(signal, name, None)
        if signal_number is not None and signal.getsignal(signal_number) is not signal.SIG_IGN:
            before[signal_number] = signal.signal(signal_number, forward)
    try:
        witness = _witness(before)
        child = subprocess.Popen(argv, env=dict(environment))
        # The program was there within microseconds of our asking for it, and has what the group got since.
        # On Windows it has what its terminal sent, which could be sent to the whole terminal only.
        for early in waiting:
            if not _has_got(child, early, witness):
                child.send_signal(early)
        return child.wait()
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
        if witness is not None:
            witness.dismiss()


def _witness(signals: Collection[int]) -> Witness | None:
    """None where there can be none."""
    if sys.platform == "win32":
        return None
    with suppress(OSError):
        return Witness(signals)
    return None


def _has_got(child: subprocess.Popen[bytes], number: int, witness: Witness | None) -> bool:
    """Whether the program got a signal without us, with the group that it is in."""
    if sys.platform != "win32":
        with suppress(OSError):
            if os.getpgid(child.pid) != os.getpgrp():
                return False
    known = None if witness is None else witness.group_got(number)
    return signal.Signals(number).name in TERMINALS if known is None else known


def die_as(returncode: int) -> int:
    """End as the child did: returns its exit code, or does not return, killed by the same signal."""
    if returncode >= 0:
        return returncode
    number = -returncode
    _leave_no_core_dump()
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _leave_no_core_dump() -> None:
    """The child has left its own, if it was to leave one."""
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
