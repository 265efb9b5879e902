"""Python's garbage collector in a process that keeps most of what it makes.

It looks at all objects again and again as their number grows; but modules stay for good, and the trees of
open documents for long. So they are put aside where it does not look, and looked at when nobody waits.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 20_000
"""New objects after which the collector looks at the young ones. An edit makes about as many."""
IDLE_S = 2.0
"""How long nothing must have been looked at before all objects are."""
MOST_LOOKS = 500
"""Looks at documents after which garbage may have gathered among what was put aside."""


def settle() -> None:
    """Leave alone what there is now, and collect from here on."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)
    gc.enable()


@contextmanager
def making_much() -> Iterator[None]:
    """Make many objects at once that will stay."""
    gc.disable()
    try:
        yield
    finally:
        settle()


def collect_all() -> None:
    """Look at everything, also at what was put aside; takes some hundred milliseconds with many documents."""
    gc.unfreeze()
    gc.collect()
    settle()


class IdleCollection:
    """Has everything looked at once documents were opened or closed, or edited often, and nobody waits."""

    def __init__(self, collect: Callable[[], object]) -> None:
        """``collect`` is called on the running event loop's thread."""
        self._collect = collect
        self._loop = asyncio.get_running_loop()
        self._looks = 0
        self._due: asyncio.TimerHandle | None = None

    def looked(self, much_is_new: bool) -> None:
        """A document was looked at; ``much_is_new`` of what was made in doing so."""
        self._looks += 1
        if much_is_new or self._looks >= MOST_LOOKS or self._due is not None:
            self.gone()

    def gone(self) -> None:
        """A document was closed."""
        if self._due is not None:
            self._due.cancel()
        self._due = self._loop.call_later(IDLE_S, self._idle)

    def _idle(self) -> None:
        self._due = None
        self._looks = 0
        self._collect()
