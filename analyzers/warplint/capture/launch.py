"""Starts the user's command for a capture and stands aside: same signals, same exit."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from warplint.capture.settings import VARIABLE, Settings

BOOTSTRAP = Path(__file__).parent / "bootstrap"
IGNORED = (signal.SIGINT, signal.SIGQUIT)
"""The terminal sends these to the whole group: the program decides what they mean."""
FORWARDED = (signal.SIGTERM, signal.SIGHUP)
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

    def forward(number: int, frame: FrameType | None) -> None:
        if child is None:
            waiting.append(number)
        else:
            child.send_signal(number)

    # Handlers and not SIG_IGN, which the child would inherit. A signal ignored from outside (nohup) stays so.
    before = {number: signal.getsignal(number) for number in (*IGNORED, *FORWARDED)}
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in ours:
        signal.signal(number, forward if number in FORWARDED else _do_nothing)
    try:
        child = subprocess.Popen(argv, env=dict(environment))
        for early in waiting:
            child.send_signal(early)
        return child.wait()
    finally:
        for number in ours:
            signal.signal(number, before[number])


def die_as(returncode: int) -> int:
    """End as the child did: returns its exit code, or does not return, killed by the same signal."""
    if returncode >= 0:
        return returncode
    number = -returncode
    # The child has left its core dump already, if it was to leave one.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Ctrl-C is the program's to handle."""
