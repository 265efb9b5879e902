"""Regular expressions that cost nothing until they are used: a check of one small file needs few of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

MOST_KEPT = 4096
"""Texts whose matches one pattern keeps: about the different names of 20,000 lines."""


class Pattern:
    """``re.Pattern``, compiled for its first search."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source = source
        self._flags = flags
        self._full: dict[str, re.Match[str] | None] = {}

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.source, self._flags)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.compiled.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of a whole text, which is kept: programs use the same names again and again."""
        try:
            return self._full[text]
        except KeyError:
            if len(self._full) >= MOST_KEPT:
                self._full.clear()
            found = self._full[text] = self.compiled.fullmatch(text)
            return found

    def search(self, text: str, *bounds: int) -> re.Match[str] | None:
        """The first match, between two offsets where they are given."""
        return self.compiled.search(text, *bounds)

    def findall(self, text: str) -> list[Any]:
        return self.compiled.findall(text)

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text, *bounds)
