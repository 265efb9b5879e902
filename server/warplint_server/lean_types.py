"""Imports lsprotocol's types faster. To be imported before anything else that imports them.

attrs writes and compiles an ``__init__``, ``__eq__`` and ``__repr__`` for each of their 550 classes, of which
a session uses some. Here a class is made when it is first used, with the first of the three alone. To make
them all would be a third of the work that is done before ``initialize`` is answered.
"""

from __future__ import annotations

import gc
import importlib
import sys
from threading import RLock
from types import ModuleType
from typing import Any

import attrs

_TYPES = "lsprotocol.types"
_making = RLock()


class _Fields:
    """Stands for the fields of a class that is not made yet: whoever asks for them has it made."""

    def __get__(self, instance: object, owner: type) -> Any:
        _make(owner)
        return attrs.fields(owner)


_FIELDS = _Fields()


def _init(self: object, *arguments: Any, **named: Any) -> None:
    """Stands for the ``__init__`` of such a class."""
    _make(type(self))
    type(self).__init__(self, *arguments, **named)


def _make(kind: type, define: Any = attrs.define) -> None:
    """Make a class, or what a plain subclass of it needs."""
    with _making:
        for owner in kind.__mro__:
            if owner.__dict__.get("__attrs_attrs__") is _FIELDS:
                # Classes with slots would be new ones, and others hold this one already.
                define(owner, slots=False, init=True, eq=False, repr=False)
                attrs.resolve_types(owner, vars(importlib.import_module(_TYPES)))


def _made_when_used(owner: Any) -> Any:
    owner.__attrs_attrs__ = _FIELDS
    owner.__init__ = _init
    return owner


def _import_types() -> None:
    if _TYPES in sys.modules:
        return
    # What is imported stays: garbage is looked for in what comes after it, from ``collector.settle`` on.
    gc.disable()
    define = attrs.define
    vars(attrs)["define"] = _made_when_used
    try:
        importlib.import_module(_TYPES)
    finally:
        vars(attrs)["define"] = define
    # It would ask every class for its fields, to look up the names in them, as ``_make`` does. Should
    # lsprotocol call this otherwise one day, only time is lost.
    hooks: ModuleType = importlib.import_module("lsprotocol._hooks")
    vars(hooks)["_resolved_forward_references"] = True


_import_types()
