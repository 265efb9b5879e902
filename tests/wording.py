"""What docs/language.md says of messages, as checks of one text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "language.md"
ORDERS = re.compile(
    "(?i)(add|allocate|append|ask|average|build|call|capture|compare|compute|copy|decide|divide|do|fill|fuse"
    "|give|hand|index|keep|leave|let|load|log|make|measure|mend|move|overlap|pad|pass|pin|print|put|read"
    "|register|replay|run|scale|see|send|set|sort|start|sum|switch|take|update|use|work|wrap|write)\\b"
)
HIDES = re.compile(r"GPU utilisation of \d+% hides")
"""The one way in which utilisation is spoken of."""


def without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "``", text)


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!]) ", without_code(text))


@cache
def words_not_written() -> list[str]:
    """The right column of the table of words."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    right = next(index for index, row in enumerate(rows) if row == ("we write", "and not")) + 1
    return [word.strip() for _, cell in rows[right:] for word in cell.split(",")]


def unwritten(text: str) -> list[str]:
    """Words of a text, outside code, that the page does not allow."""
    said = HIDES.sub("", without_code(text))
    return [word for word in words_not_written() if re.search(rf"\b{re.escape(word)}\b", said)]


def says_what_to_do(text: str) -> bool:
    """Whether the last sentence, or what follows its colon, is an order or holds code."""
    said = sentences(text)
    order = said[-1].split(": ")[-1] if len(said) == 1 else said[-1]
    return "``" in order or ORDERS.match(order) is not None


def faults(text: str, longest: int, most: int = 2) -> Iterator[str]:
    """How a text is not one short line of one or two plain sentences; ``longest`` in characters."""
    if len(text) > longest:
        yield f"{len(text)} characters"
    if text != " ".join(text.split()):
        yield "spaces"
    if not text.endswith(".") or text.count("`") % 2:
        yield "no full stop, or code that does not end"
    if len(sentences(text)) > most:
        yield f"{len(sentences(text))} sentences"
    yield from unwritten(text)
