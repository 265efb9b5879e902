"""Variables of the environment that a program sets itself."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts

SETTERS = {"os.environ.setdefault", "os.putenv"}


def value_set(node: ast.expr, variable: str, facts: Facts) -> str | None:
    """What a site sets a variable to, where that is written out; None for other variables too."""
    if isinstance(node, ast.Call):
        is_it = len(node.args) == 2 and _literal(node.args[0]) == variable
        return _literal(node.args[1]) if is_it else None
    statement = facts.statement(node)
    return _literal(statement.value) if isinstance(statement, ast.Assign) else None


def _literal(node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        node = node.args[0]
    return str(node.value) if isinstance(node, ast.Constant) else None
