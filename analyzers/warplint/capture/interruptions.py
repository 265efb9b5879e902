"""Tells an exception of the program's that came while our code ran from a failure of ours."""

from __future__ import annotations

import signal
from traceback import walk_tb


def is_the_programs(error: BaseException) -> bool:
    """Whether a handler of a signal raised it, or it is none that a failure raises, as Ctrl-C's."""
    if not isinstance(error, Exception):
        return True
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()}
    return any(frame.f_code in handlers for frame, _ in walk_tb(error.__traceback__))
