"""Physical lines to the statements they belong to.

CPython's LINE events jump back and forth inside a statement that spans lines, so costs are shown at the
statement's first line.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator

BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
"""The fields of compound statements that hold other statements."""


def parsed(text: str) -> ast.Module | None:
    """The tree of a whole text; None when this Python cannot parse what another one may have run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def heads_of_text(text: str) -> dict[int, int]:
    """``statement_heads`` of a text; empty when it does not parse."""
    tree = parsed(text)
    return {} if tree is None else statement_heads(tree)


def statement_heads(tree: ast.Module) -> dict[int, int]:
    """Map each line of a multi-line statement to the statement's first line; other lines are absent.

    A compound statement owns the lines of its header only. A decorator belongs to itself.
    """
    heads: dict[int, int] = {}
    for node in statements(tree):
        for first, last in _runs(node):
            for line in range(first + 1, last + 1):
                heads[line] = first
    return heads


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The tree, its statements at any depth, and their clauses; outer before inner.

    Expressions hold no statements and are most of a tree: leaving them out takes a third of the time.
    """
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        for block in BLOCKS:
            stack.extend(getattr(node, block, ()))


def _runs(node: ast.AST) -> Iterator[tuple[int, int]]:
    """The first and last lines of each thing under this node that runs as one statement."""
    if isinstance(node, ast.match_case):
        header = [node.pattern, *([node.guard] if node.guard else [])]
        yield node.pattern.lineno, _last_line(header)
    elif isinstance(node, ast.stmt | ast.excepthandler):
        if any(hasattr(node, block) for block in BLOCKS):
            yield node.lineno, max(node.lineno, _last_line(_header(node)))
        else:
            yield node.lineno, node.end_lineno or node.lineno
        for decorator in getattr(node, "decorator_list", []):
            yield decorator.lineno, decorator.end_lineno


def _header(node: ast.AST) -> Iterator[ast.AST]:
    """What stands between a compound statement's keyword and its colon."""
    for field, value in ast.iter_fields(node):
        if field not in BLOCKS and field != "decorator_list":
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield child


def _last_line(nodes: Iterable[ast.AST]) -> int:
    """The last line any of the nodes stands on; 0 when none has a place."""
    return max((getattr(inner, "end_lineno", 0) for node in nodes for inner in ast.walk(node)), default=0)
