"""How a forked child ends when Kineto has run in its parent.

From its first trace on Kineto keeps a thread of its own, and one of libtorch's destructors joins it. A
forked child has the destructor and not the thread: it hangs or aborts in ``exit``, whoever used the profiler.
Children of ``multiprocessing`` end by ``os._exit`` and never come that far.
"""

from __future__ import annotations

import ctypes
import sys


def leave_before_destructors() -> None:
    """Have this process end, when Python has, without running C++ destructors; its exit code stays."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "on_exit"):  # musl
        return
    # Called in the reverse order, with the exit code as first argument: streams of C are flushed, then we go.
    for function in (libc._exit, libc.fcloseall):
        libc.on_exit(ctypes.cast(function, ctypes.c_void_p), None)
