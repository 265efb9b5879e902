"""File patterns as configuration writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

WILDCARD = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]")


class Globs:
    """Patterns against paths relative to one folder, with forward slashes.

    A pattern without a slash (``build``, ``*_pb2.py``) fits any file or folder of that name; one with a slash
    (``third_party/apex``) fits that path alone. ``*`` stays within a name, ``**`` crosses folders. What fits
    a folder covers everything in it.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        names: list[str] = []
        paths: list[str] = []
        for pattern in patterns:
            stripped = pattern.removeprefix("./").rstrip("/")
            (paths if "/" in stripped else names).append(_regex(stripped.lstrip("/")))
        self._name = _any_of(names)
        self._path = _any_of(paths)

    def match_entry(self, relative: str) -> bool:
        """Whether a pattern fits this path itself, whatever fits the folders above it."""
        return bool(self._name.fullmatch(relative.rpartition("/")[2]) or self._path.fullmatch(relative))

    def match(self, relative: str) -> bool:
        """Whether a pattern fits this path or a folder above it."""
        parts = relative.split("/")
        return any(self.match_entry("/".join(parts[: end + 1])) for end in range(len(parts)))


def _regex(pattern: str) -> str:
    """The pattern as the source of a regular expression."""
    pieces: list[str] = []
    end = 0
    for match in WILDCARD.finditer(pattern):
        pieces += re.escape(pattern[end : match.start()]), _wildcard(match.group())
        end = match.end()
    return "".join([*pieces, re.escape(pattern[end:])])


def _wildcard(text: str) -> str:
    simple = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if text in simple:
        return simple[text]
    inside = text[1:-1].replace("\\", "\\\\")
    return f"[^{inside[1:]}/]" if inside.startswith("!") else f"[{inside}]"


def _any_of(sources: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{source})" for source in sources) or r"(?!)", re.DOTALL)
