"""Functions of ours in the place of torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class Patches:
    """Puts functions around those of one module or class, and takes them off again.

    What somebody else has put around ours meanwhile stays. It goes on calling ours, which must then do no
    more than call the original.
    """

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._put: dict[str, tuple[Function, Function]] = {}
        """Name to the original and ours."""

    def put(self, name: str, around: Callable[[Function], Function]) -> None:
        """``around`` makes ours of the original. Nothing where there is no function, or ours already."""
        original = getattr(self._owner, name, None)
        if original is not None and name not in self._put:
            ours = around(original)
            self._put[name] = (original, ours)
            setattr(self._owner, name, ours)

    def take_off(self, name: str) -> None:
        original, ours = self._put.get(name, (None, None))
        if ours is not None and getattr(self._owner, name, None) is ours:
            setattr(self._owner, name, original)
            del self._put[name]

    def take_all_off(self) -> None:
        for name in list(self._put):
            self.take_off(name)
