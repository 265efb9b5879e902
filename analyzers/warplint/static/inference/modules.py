"""A module of the project as other files see it: cut into pieces, and parsed no further than they ask."""

from __future__ import annotations

import enum
import re
from functools import cached_property
from itertools import pairwise

from warplint.source.pattern import Pattern
from warplint.static.parsing.chunks import Chunk, Placed, quiet_parser, starts
from warplint.static.structure.index import Index

_BLANK = r"(?:[ \t\f]*(?:\#[^\n]*)?\r?\n)*"
_PIECE = Pattern(
    rf"""
    {_BLANK}
    (?: (?:@(?:[^\n]*\n)+?)?(?:async[ \t]+)?(?P<kind>def|class)[ \t]+(?P<defined>\w+)
      | (?P<assigned>\w+)[ \t]*(?::[^=\n]+)?=(?!=)
      | (?P<script>if[ \t]+__name__\b)
    )
    """,
    re.VERBOSE,
)
_CLASS = Pattern(r"^class[ \t]+\w+[ \t]*(?:\([^()\n]*\))?[ \t]*:", re.MULTILINE)
_METHOD = Pattern(r"^([ \t]+)def[ \t]+(\w+)\(\s*(\w*)", re.MULTILINE)
_NAME = Pattern(r"[^\W\d]\w*")


class Defines(enum.Enum):
    """What a name of a module is."""

    FUNCTION = "def"
    CLASS = "class"
    VARIABLE = "variable"
    IMPORT = "import"


class Module:
    """The text of one module, by what its top-level statements define.

    Statements that define nothing by their first words, imports among them, belong to every part; what only
    runs when the file is started as a program belongs to none.
    """

    def __init__(self, text: str) -> None:
        places = [*starts(text), len(text)]
        self._pieces = [text[start:end] for start, end in pairwise(places)]
        self._chunks: dict[int, Placed] = {}
        self._mentioned: dict[int, list[str]] = {}
        self._named: dict[str, list[int]] = {}
        self._kinds: dict[str, Defines] = {}
        self._rest: list[int] = []
        for number, piece in enumerate(self._pieces):
            match = _PIECE.match(piece)
            if match is None:
                self._rest.append(number)
            elif name := match["defined"] or match["assigned"]:
                self._named.setdefault(name, []).append(number)
                self._kinds[name] = Defines(match["kind"] or "variable")

    def defines(self, name: str) -> Defines | None:
        """What the module binds a name to; None where it does not, but for ``from … import *``."""
        kind = self._kinds.get(name)
        if kind is not None:
            return kind
        common = self._common
        if name in common.scope.imports:
            return Defines.IMPORT
        if name in common.functions:
            return Defines.FUNCTION
        if name in common.classes:
            return Defines.CLASS
        return Defines.VARIABLE if name in common.scope.bound else None

    def imported(self, name: str) -> str:
        """What an import of the module binds a name to."""
        return self._common.scope.imports[name]

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """The modules of ``from … import *``, the last one first."""
        if not any("*" in self._pieces[number] for number in self._rest):
            return ()
        return self._common.stars

    def head(self, name: str) -> list[Placed]:
        """A class without what it refers to and does: its bases, and the names of its methods."""
        numbers = self._named.get(name, [])
        outlines = [_class_outline(self._pieces[number]) for number in numbers]
        if None in outlines:
            return self._placed(numbers)
        return [*self._placed([]), *(Placed(Chunk(text), 0, 1) for text in outlines if text is not None)]

    def part(self, name: str, deep: int) -> list[Placed]:
        """A definition with what it refers to in the module, and what that refers to, so many times over."""
        found = {name}
        reached = [name]
        for _ in range(deep):
            reached = [
                mentioned
                for each in reached
                for number in self._named.get(each, ())
                for mentioned in self._mentions(number)
                if mentioned not in found
            ]
            found.update(reached)
        return self._placed([number for each in found for number in self._named.get(each, ())])

    def _mentions(self, number: int) -> list[str]:
        if number not in self._mentioned:
            names = set(_NAME.findall(self._pieces[number]))
            self._mentioned[number] = sorted(names & self._named.keys())
        return self._mentioned[number]

    @cached_property
    def _common(self) -> Index:
        return Index(self._placed([]))

    def _placed(self, numbers: list[int]) -> list[Placed]:
        """These pieces and those that belong to every part, but for what is nested too deeply."""
        wanted = [self._chunk(number) for number in sorted({*numbers, *self._rest})]
        return [placed for placed in wanted if _can_be_outlined(placed.chunk)]

    def _chunk(self, number: int) -> Placed:
        placed = self._chunks.get(number)
        if placed is None:
            with quiet_parser():
                # Where it stands in the file is nobody's business elsewhere.
                placed = self._chunks[number] = Placed(Chunk(self._pieces[number]), 0, 1)
        return placed


def _class_outline(piece: str) -> str | None:
    """A class statement with empty methods, which is parsed in no time; None where that takes a parser."""
    statement = _CLASS.search(piece)
    if statement is None:
        return None
    methods = _METHOD.findall(piece)
    indent = min((method[0] for method in methods), key=len, default="")
    body = [f" def {name}({first}): ...\n" for around, name, first in methods if around == indent]
    return "".join([statement.group(), "\n", *body, " pass\n"])


def _can_be_outlined(chunk: Chunk) -> bool:
    try:
        return chunk.outline is not None
    except RecursionError:
        return False
