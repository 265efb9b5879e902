"""A thread of ours inside the user's program, for the length of a window."""

from __future__ import annotations

import _thread
from collections.abc import Callable

PATIENCE_S = 10.0


class Background:
    """Calls ``tick`` every ``period_s`` seconds until stopped, or until it fails, which ``on_error`` is told.

    Started below the ``threading`` module, so that a program which counts or joins its threads sees its own.
    """

    def __init__(
        self, tick: Callable[[], None], period_s: float, on_error: Callable[[Exception], None]
    ) -> None:
        self._tick = tick
        self._on_error = on_error
        self._period_s = period_s
        self._stop = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        self.running = False

    def start(self) -> None:
        self._stop.acquire()
        self._done.acquire()
        self.running = True
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """Returns when the last ``tick`` has ended. Not for a forked child, which has no such thread."""
        self.running = False
        self._stop.release()
        self._done.acquire(timeout=PATIENCE_S)

    def _run(self) -> None:
        try:
            while not self._stop.acquire(timeout=self._period_s):
                self._tick()
        except Exception as error:
            self._on_error(error)
        finally:
            self._done.release()
