"""Whether a pattern is found in a text: quick for those of many words, of which most texts have none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_FLAGS = re.compile(r"(?:\(\?[aims]+\))?")
"""Flags at the head of a pattern, which hold for each of its alternatives."""
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""An escape, a set of characters, or a character."""
_OPTIONAL = frozenset("?*{")
_UNREAD = re.compile(r"\\[xuUN0-9]|\{[\d,]|\(\?(?![:=!<]|P<|[aims-]+:)")
"""Left to Python: characters by number, counted parts, other flags, comments, groups that name another."""


class Searched:
    """A text in which patterns are looked for, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lowered = text.lower() if text.isascii() else None

    def mentions(self, pattern: str) -> bool:
        """The same as ``re.search(pattern, text) is not None``.

        Python tries each alternative at each character. It finds a word at once, and so each alternative is
        tried only where the longest word in it is found.
        """
        text, lowered = self._text, self._lowered
        alternatives = _alternatives(pattern) if lowered is not None else None
        if lowered is None or alternatives is None:
            return re.search(pattern, text) is not None
        for word, alternative in alternatives:
            if word in lowered and alternative.search(text) is not None:
                return True
        return False


@lru_cache(maxsize=256)
def _alternatives(pattern: str) -> tuple[tuple[str, re.Pattern[str]], ...] | None:
    """Each alternative of a pattern with the longest word that it cannot do without, in lower case.

    None where it has something in it that is left to Python.
    """
    flags = _FLAGS.match(pattern)
    assert flags is not None
    if not pattern.isascii() or _UNREAD.search(pattern, flags.end()):
        return None
    return tuple(
        (max(_words(parts), key=len, default=""), re.compile(flags[0] + "".join(parts)))
        for parts in _split(_PART.findall(pattern, flags.end()))
    )


def _split(parts: list[str]) -> Iterator[list[str]]:
    current: list[str] = []
    depth = 0
    for part in parts:
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            yield current
            current = []
        else:
            current.append(part)
    yield current


def _words(parts: list[str]) -> Iterator[str]:
    """Runs of characters that stand for themselves, in no group."""
    word = ""
    depth = 0
    for part, following in zip(parts, [*parts[1:], ""], strict=False):
        depth += (part == "(") - (part == ")")
        if depth or not (part.isalnum() or part == "_") or following in _OPTIONAL:
            yield word
            word = ""
        else:
            word += part.lower()
    yield word
