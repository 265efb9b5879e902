"""The loops around a place, as several rules ask for them."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts

Loop = ast.For | ast.AsyncFor | ast.While | ast.comprehension
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def loops_around(node: ast.AST, facts: Facts) -> list[Loop]:
    """The loops and comprehensions around a node within its function, innermost first."""
    loops: list[Loop] = []
    parent = facts.parent(node)
    while parent is not None and not isinstance(parent, FUNCTIONS):
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.While)):
            loops.append(parent)
        elif isinstance(parent, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            loops.extend(reversed(parent.generators))
        parent = facts.parent(parent)
    return loops
