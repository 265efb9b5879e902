"""Acts on modules that programs import late, or never: importing them for it would cost seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

Action = Callable[[Any], None]
"""Takes a module; must not raise, since it runs within the program's own import."""
Guard = Callable[[Action], Action]
"""Makes an action that does not raise."""


class LateImports:
    """Calls an action once for each named module: at once where it is loaded, else when it has been.

    ``remove`` forgets those not called yet. A finder stands on ``sys.meta_path`` as long as there are any.
    """

    def __init__(self) -> None:
        self._actions: dict[str, Action] = {}
        self._finder = _Finder(self._actions)

    def when_imported(self, name: str, action: Action) -> None:
        module = sys.modules.get(name)
        if module is not None:
            action(module)
            return
        self._actions[name] = action
        if self._finder not in sys.meta_path:
            sys.meta_path.insert(0, self._finder)

    def remove(self) -> None:
        self._actions.clear()
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)


class _Finder:
    """Leaves all finding to the others on ``sys.meta_path``."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self._actions = actions

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        action = self._actions.pop(name, None)
        if action is None:
            return None
        if not self._actions and self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            _call_after(spec.loader, action)
        return spec


def _call_after(loader: Loader, action: Action) -> None:
    """Have the loader, once, call the action when it has executed its module."""
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module
        execute(module)
        action(module)

    loader.exec_module = exec_module  # type: ignore[method-assign]
