"""Files that test something, whose programs run now and then and on tiny input."""

from __future__ import annotations

from warplint.static.facts import Facts

TESTS = r"(?m)^\s*(?:import|from)\s+(?:pytest|unittest)\b|^\s*def test_\w+\(self\)"
"""A test framework, or a method that one would run; `def test_epoch(model, loader)` evaluates."""


def is_test(facts: Facts) -> bool:
    """Whether the file of a site shows that it is a test, by what it imports or defines."""
    return facts.mentions(TESTS)
