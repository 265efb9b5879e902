"""Which of the loaded modules may hold the user's code."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from types import ModuleType


class LoadedModules:
    """The names in ``sys.modules``, sorted: each is looked at once.

    Looking at an object writes to it, its count of references: in a forked worker that copies the page it
    lies on. Two thousand modules cost a worker 20 ms, so its parent looks before it forks.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        """``folders`` of the user's code; each ends with a separator."""
        self._folders = tuple(folders)
        self._looked_at = 0
        self._last = ""
        """The name that stood at the end then."""
        self._under_folders: list[str] = []
        self._by_root: dict[str, list[str]] = {}

    def look(self) -> None:
        """Sort what was loaded since the last look, which stands at the end of ``sys.modules``.

        Where modules were taken out before it, everything is sorted again.
        """
        loaded = sys.modules
        count = len(loaded)
        names = list(islice(reversed(loaded), max(0, count - self._looked_at) + 1))
        new = names[:-1]
        if names[-1] != self._last:
            new = names = list(reversed(loaded))
            count = len(names)
            self._under_folders.clear()
            self._by_root.clear()
        self._looked_at, self._last = count, names[0]
        for name in new:
            self._by_root.setdefault(name.partition(".")[0], []).append(name)
            module = loaded.get(name)
            # What stands among the modules may be anything, and a lazy one loads when asked for an attribute.
            file = vars(module).get("__file__") if type(module) is ModuleType else None
            if type(file) is str and file.startswith(self._folders):
                self._under_folders.append(name)

    def of(self, packages: Iterable[str]) -> list[ModuleType]:
        """Modules under the folders, and those of ``packages``."""
        self.look()
        names = dict.fromkeys(self._under_folders)
        for package in packages:
            names |= dict.fromkeys(self._by_root.get(package, ()))
        modules = [sys.modules.get(name) for name in names]
        return [module for module in modules if type(module) is ModuleType]
