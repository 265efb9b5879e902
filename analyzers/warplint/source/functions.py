"""The functions of a text, also of one that is being typed and does not parse."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from warplint.source.pattern import Pattern
from warplint.source.records import dataclass
from warplint.source.statements import statements
from warplint.source.text import LINE_END

TAB_WIDTH = 8
"""As Python counts the indentation of lines that mix tabs and blanks."""

_DEFINITION = Pattern(r"[ \t\f]*(?:async[ \t]+)?def[ \t]+(\w+)")
_DECORATOR = Pattern(r"[ \t\f]*@")
# A line that starts with one of these ends a bracket: it goes on with the statement above it.
_CLOSING = Pattern(r"[ \t\f]*[)\]}]")
_BLANK = Pattern(r"[ \t\f]*(?:#.*)?\Z")


@dataclass(frozen=True, slots=True)
class Function:
    """A function statement. Lines count from 1: ``line`` has the ``def``, ``first`` its first decorator."""

    name: str
    line: int
    first: int
    last: int


def functions_of_tree(tree: ast.Module, before: int = 0) -> Iterator[Function]:
    """The functions of a tree, outer before inner. ``before`` is how many lines stand above its text."""
    for node in statements(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.end_lineno or node.lineno
            yield Function(node.name, before + node.lineno, before + first, before + last)


def functions_of_broken(text: str, before: int = 0) -> Iterator[Function]:
    """The same of a text that does not parse, read off its indentation.

    It finds what the tree had before a statement was half typed, so nothing jumps meanwhile. What looks like
    a function inside a string is taken for one.
    """
    lines = LINE_END.split(text)
    for number, line in enumerate(lines):
        if definition := _DEFINITION.match(line):
            first = _first_decorator(lines, number, _indentation(line))
            last = _last_line(lines, number, _indentation(line))
            yield Function(definition[1], before + number + 1, before + first + 1, before + last + 1)


def innermost(functions: Sequence[Function]) -> dict[int, Function]:
    """Each line that is in a function, with the innermost one around it."""
    owners: dict[int, Function] = {}
    for function in sorted(functions, key=lambda function: (function.first, -function.last)):
        owners.update(dict.fromkeys(range(function.first, function.last + 1), function))
    return owners


def _first_decorator(lines: Sequence[str], definition: int, indentation: int) -> int:
    """The index of the line where the decorators right above a definition start."""
    first = definition
    while first and _DECORATOR.match(lines[first - 1]) and _indentation(lines[first - 1]) == indentation:
        first -= 1
    return first


def _last_line(lines: Sequence[str], definition: int, indentation: int) -> int:
    """The index of the last line that is indented under a definition."""
    last = definition
    for number in range(definition + 1, len(lines)):
        line = lines[number]
        if _BLANK.match(line):
            continue
        if _indentation(line) <= indentation and not _CLOSING.match(line):
            break
        last = number
    return last


def _indentation(line: str) -> int:
    expanded = line.replace("\f", "").expandtabs(TAB_WIDTH)
    return len(expanded) - len(expanded.lstrip(" "))
