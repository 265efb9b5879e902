"""Whether a place builds a graph for the backward pass."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.parsing.tree import FunctionNode, has_decorator, last_name

OFF = ("no_grad", "inference_mode")
"""Contexts and decorators under which no gradients are computed."""


def runs_without_gradients(node: ast.AST, facts: Facts) -> bool:
    """Whether a context or decorator around a place within its function switches gradients off."""
    current = facts.parent(node)
    while current is not None and not isinstance(current, FunctionNode):
        if isinstance(current, ast.With | ast.AsyncWith) and any(
            last_name(item.context_expr) in OFF for item in current.items
        ):
            return True
        current = facts.parent(current)
    return isinstance(current, FunctionNode) and has_decorator(current, *OFF)
