"""Physical lines to the statements they belong to.

CPython's LINE events jump back and forth inside a statement that spans lines, so costs are shown at the
statement's first line.
"""

from __future__ import annotations

import ast


def statement_heads(tree: ast.Module) -> dict[int, int]:
    """Map each line of a multi-line statement to the statement's first line; other lines are absent.

    A compound statement owns the lines of its header only. A decorator line belongs to itself.
    """
    heads: dict[int, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            first, last = _header(node)
            for line in range(first + 1, last + 1):
                heads[line] = first
    return heads


def _header(node: ast.stmt | ast.excepthandler | ast.match_case) -> tuple[int, int]:
    if isinstance(node, ast.match_case):
        first, last = node.pattern.lineno, node.body[0].lineno - 1
        return first, max(first, last)
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        decorators = getattr(body[0], "decorator_list", [])
        first_inside = min([body[0].lineno, *(decorator.lineno for decorator in decorators)])
        return node.lineno, max(node.lineno, min(first_inside - 1, _last_header_line(node)))
    return node.lineno, node.end_lineno or node.lineno


def _last_header_line(node: ast.AST) -> int:
    """The last line of a compound statement's own expressions, so that blank lines and comments stay out."""
    last = getattr(node, "lineno", 0)
    for field, value in ast.iter_fields(node):
        if field in {"body", "orelse", "finalbody", "handlers", "cases", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                for inner in ast.walk(child):
                    last = max(last, getattr(inner, "end_lineno", 0) or 0)
    return last
