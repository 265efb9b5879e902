"""Which lines of a file a listing shows, and which it folds away."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from warplint.source.records import dataclass
from warplint.source.statements import parsed
from warplint.source.text import LINE_END

CONTEXT_LINES = 1
"""How many lines are shown on each side of one that ran."""

SHORTEST_FOLD = 3
"""A stretch shorter than this is shown: its mark would take as much room."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines ``first`` to ``last``, shown or folded."""

    first: int
    last: int
    shown: bool

    @property
    def lines(self) -> range:
        return range(self.first, self.last + 1)


def stretches(text: str, line_count: int, interesting: Iterable[int]) -> Iterator[Stretch]:
    """The whole file in stretches: interesting lines, some round them, and their ``def`` and ``class``."""
    shown = _shown(text, line_count, set(interesting))
    first = 1
    while first <= line_count:
        last = first
        while last < line_count and (last + 1 in shown) == (first in shown):
            last += 1
        folded = first not in shown and last - first + 1 >= SHORTEST_FOLD
        yield Stretch(first, last, not folded)
        first = last + 1


def _shown(text: str, line_count: int, wanted: set[int]) -> set[int]:
    lines, headers = LINE_END.split(text), _headers(text)
    shown = set(wanted)
    for line in wanted:
        shown.update(headers.get(line, ()))
        near = range(max(1, line - CONTEXT_LINES), min(line_count, line + CONTEXT_LINES) + 1)
        shown.update(number for number in near if lines[number - 1].strip())
    return shown


def _headers(text: str) -> dict[int, tuple[int, ...]]:
    """For each line the lines of the ``def`` and ``class`` statements round it."""
    tree = parsed(text)
    if tree is None:
        return {}
    headers: dict[int, tuple[int, ...]] = {}
    # Outer definitions come before inner ones, whose lines are then extended.
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                headers[line] = (*headers.get(line, ()), node.lineno)
    return headers
