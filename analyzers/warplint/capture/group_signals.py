"""Tells a signal that was sent to the whole process group from one that was sent to this process alone.

A terminal's Ctrl-C, ``timeout`` and job schedulers signal the group: the program has the signal already, and
must not get it twice. ``kill`` and ``timeout --foreground`` signal one process, which must pass it on.
Neither the signal nor its sender tells which it was. A second process of the group does: it blocks the
signals, and says which of them wait for it.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection
from contextlib import suppress

GROUP_S = 0.05
"""Who signals a process and then its group does so within microseconds; a loaded machine may take longer."""
ANSWER_S = 1.0
"""A witness that does not answer by then was stopped or killed."""


class Witness:
    """The other process of our group. It ends when we do, however that is. Not for Windows."""

    def __init__(self, signals: Collection[int]) -> None:
        """Raises OSError."""
        self._came: set[int] = set()
        """Signals of the group that were not asked for yet."""
        self._asking: set[int] = set()
        self._again: set[int] = set()
        """Signals that came once more while they were asked about."""
        asked, self._ask = os.pipe()
        self._answer, answering = os.pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        try:
            self._pid = os.fork()
            if self._pid == 0:
                os.close(self._ask)
                _bear_witness(set(signals), asked, answering)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(asked)
            os.close(answering)

    def group_got(self, number: int) -> bool | None:
        """Whether a signal that we just got was sent to the whole group; None when that cannot be told.

        To be called by the signal's handler, in which others may call it.
        """
        if number in self._asking:
            # The same again at once: for the witness it was one, unless it had answered by then.
            self._again.add(number)
            return True
        known = self._ask_about(number)
        if number in self._again:
            # Once more, or the next that comes to us alone would count as the group's.
            known = self._ask_about(number) or known
            # And on only while the group gets more: who signals us alone waits for it to be passed on.
            while number in self._again and self._ask_about(number):
                pass
        return known

    def _ask_about(self, number: int) -> bool | None:
        self._again.discard(number)
        self._asking.add(number)
        try:
            time.sleep(GROUP_S)
            os.write(self._ask, b"?")
            if not select.select([self._answer], [], [], ANSWER_S)[0]:
                return None
            answer = os.read(self._answer, 256)
            if not answer:
                return None
        except OSError:
            return None
        finally:
            self._asking.discard(number)
        self._came.update(answer[1:])
        known = number in self._came
        self._came.discard(number)
        return known

    def dismiss(self) -> None:
        os.close(self._ask)
        os.close(self._answer)
        with suppress(ChildProcessError):
            if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
                # One that was stopped would not see that the pipe is closed.
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)


def _bear_witness(signals: set[int], asked: int, answering: int) -> None:
    """Answer each question with the signals that came since the last, after a byte that is always there.

    The signals are blocked. Does not return.
    """
    try:
        while os.read(asked, 1):
            came = signal.sigpending() & signals
            for number in came:
                signal.sigwait({number})
            os.write(answering, bytes([0, *came]))
    finally:
        os._exit(0)
