"""Makes things in a second process, while the first does something else."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

Made = TypeVar("Made")


class SecondProcess(Generic[Made]):
    """What ``make`` gives, made from now on in a fork of this process, which has all that was read without a
    copy. It ends with this one. Where there can be no second process, and as far as it was killed or failed,
    it is made here when it is asked for: ``make`` may be called twice, and must give the same."""

    def __init__(self, make: Callable[[], Iterable[Made]]) -> None:
        self._make = make
        self._process: ForkProcess | None = None
        self._received: Connection | None = None
        if can_fork():
            self._process, self._received = _started(make)

    def __enter__(self) -> SecondProcess[Made]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._received is not None:
            self._received.close()
            self._process.kill()
            self._process.join()

    def made(self) -> Iterator[Made]:
        """All of it, in order."""
        count = 0
        if self._received is not None:
            with suppress(EOFError, OSError):
                while (message := self._received.recv()) != _END:
                    yield message[0]
                    count += 1
                return
        yield from islice(self._make(), count, None)


_END = ()
_PR_SET_PDEATHSIG = 1
"""Of ``linux/prctl.h``."""


def can_fork() -> bool:
    """Where there is a second processor, and no other thread, whose locks a fork would keep for ever. What
    macOS runs in a process forbids it there."""
    linux = sys.platform == "linux"
    return linux and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


def _started(make: Callable[[], Iterable[Made]]) -> tuple[ForkProcess, Connection] | tuple[None, None]:
    """The second process, and where it sends to. Neither where the system has no room for one."""
    # Most of what imports this module forks nothing.
    import multiprocessing

    fork = multiprocessing.get_context("fork")
    try:
        received, sent = fork.Pipe(duplex=False)
    except OSError:
        return None, None
    with sent:
        process = fork.Process(target=_send, args=(make, os.getpid(), received, sent), daemon=True)
        try:
            with _held_interrupts():
                process.start()
        except OSError:
            received.close()
            return None, None
    return process, received


@contextmanager
def _held_interrupts() -> Iterator[None]:
    """Ctrl-C is met afterwards, and never by a process that was started here: the first ends it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _send(make: Callable[[], Iterable[Made]], first: int, received: Connection, sent: Connection) -> None:
    received.close()
    # What goes wrong here is met again, and told, where the first process makes the rest itself.
    with suppress(Exception):
        _end_with(first)
        # It takes nothing until it has done its own part.
        made = list(make())
        for each in made:
            sent.send((each,))
        sent.send(_END)


def _end_with(parent: int) -> None:
    """Have the system kill this process when its parent ends: it holds that one's locks."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise ProcessLookupError
