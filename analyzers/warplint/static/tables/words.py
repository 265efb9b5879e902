"""How tables of many names are written."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The blank-separated names of a text."""
    return frozenset(text.split())
