"""Files that test something, whose programs run now and then and on tiny input."""

from __future__ import annotations

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts

TESTS = r"(?m)^\s*(?:import|from)\s+(?:pytest|unittest)\b|^\s*def test_\w+\(self\)"
"""A test framework, or a method that one would run; `def test_epoch(model, loader)` evaluates."""

_FOLDER = Pattern(r"_?tests?|testing|unit_?tests?")
_FILE = Pattern(r"test_\w+|\w+_test|conftest")


def is_test(facts: Facts) -> bool:
    """Whether the file of a site shows that it is a test, by what it imports or defines."""
    return facts.mentions(TESTS)


def is_among_tests(facts: Facts) -> bool:
    """Whether a test also stands where tests do: a program may define ``test_epoch(self)`` as well."""
    *folders, _ = facts.path.parts or ("",)
    is_there = _FILE.fullmatch(facts.path.stem) or any(_FOLDER.fullmatch(folder) for folder in folders)
    return bool(is_there) and is_test(facts)
