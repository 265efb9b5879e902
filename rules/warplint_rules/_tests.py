"""Files that test something, whose programs run now and then and on tiny input."""

from __future__ import annotations

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts

TESTS = r"(?m)^\s*(?:import|from)\s+(?:pytest|unittest)\b|^\s*def test_\w+\(self\)"
"""A test framework, or a method that one would run; `def test_epoch(model, loader)` evaluates."""

_IMPORTS = r"(?m)^\s*(?:import|from)\s+(?:pytest|unittest)\b"

_FOLDER = Pattern(r"_?tests?|testing|unit_?tests?")
_FILE = Pattern(r"test_\w+|conftest")
_MAYBE_FILE = Pattern(r"\w+_test")
"""A test, or as ``train_test`` a program that trains and tests."""


def is_test(facts: Facts) -> bool:
    """Whether the file of a site shows that it is a test, by what it imports or defines."""
    return facts.mentions(TESTS)


def is_among_tests(facts: Facts) -> bool:
    """Whether a test also stands where tests do: a program may define ``test_epoch(self)`` as well."""
    *folders, _ = facts.path.parts or ("",)
    if facts.path.is_absolute():
        # No root is known: the folders far above say where the project lies, not what the file is.
        folders = folders[-1:]
    name = facts.path.stem
    if _FILE.fullmatch(name) or any(_FOLDER.fullmatch(folder) for folder in folders):
        return is_test(facts)
    return _MAYBE_FILE.fullmatch(name) is not None and facts.mentions(_IMPORTS)
