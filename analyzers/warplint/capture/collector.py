"""Keeps the program's garbage collections where they would be without us."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_rest() -> Iterator[None]:
    """Collect nothing meanwhile: what we make and drop at once then counts for no collection.

    A full collection in a forked worker writes to every object that it had shared with its parent until then:
    0.2 s of CPU time where torch is loaded. One too early is one too many for a worker that lives no longer.

    Collection is one switch for all threads: of another thread that turns it off meanwhile nothing is known,
    and it is on again after this.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
