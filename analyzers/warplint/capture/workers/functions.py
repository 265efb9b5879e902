"""The functions whose lines may be of interest in a loader worker: those of the modules that are loaded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

from warplint.capture.lines.loaded_modules import LoadedModules

MAX_FUNCTIONS = 2_000
"""A project's have hundreds; of a library that makes datasets the first found are taken. Some 10 ms a
worker."""
MAX_DECORATORS = 5


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where to look: modules, and single objects."""

    modules: LoadedModules
    packages: frozenset[str] = frozenset()
    """Those whose modules count besides the user's own."""
    beside: tuple[object, ...] = ()
    """Callables and objects whose functions count, though they may be in no module."""


def functions_of_interest(around: Surroundings, counts: Callable[[CodeType], bool]) -> list[FunctionType]:
    """Functions and methods whose code ``counts``. Those made within functions are in no module.

    Nothing of the program's runs here: dictionaries are read, and types are asked for by ``type`` alone,
    since ``isinstance`` asks the object for its class.
    """
    found: dict[int, FunctionType] = {}
    for candidate in _candidates(around):
        for function in _undecorated(candidate):
            if counts(function.__code__):
                found[id(function)] = function
        if len(found) >= MAX_FUNCTIONS:
            break
    return list(found.values())


def _candidates(around: Surroundings) -> Iterator[object]:
    for one in around.beside:
        yield from (one, *_of_class(type(one)))
        if type(one) is functools.partial:
            yield one.func
        yield from list(getattr(one, "__dict__", {}).values())
    for module in around.modules.of(around.packages):
        for value in list(vars(module).values()):
            yield value
            if issubclass(type(value), type):
                yield from _of_class(value)


def _of_class(owner: Any) -> Iterator[object]:
    for value in list(vars(owner).values()):
        if type(value) in (staticmethod, classmethod):
            yield value.__func__
        elif type(value) is property:
            yield value.fget
        else:
            yield value


def _undecorated(candidate: Any) -> Iterator[FunctionType]:
    """The function, and those that it is wrapped around."""
    for _ in range(MAX_DECORATORS):
        if type(candidate) is MethodType:
            candidate = candidate.__func__
        if type(candidate) is not FunctionType:
            return
        yield candidate
        candidate = vars(candidate).get("__wrapped__")
