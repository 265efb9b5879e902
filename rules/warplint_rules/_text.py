"""Expressions as messages quote them."""

from __future__ import annotations

import ast

SHOWN = 40
"""Characters of an expression that a message quotes."""


def short(node: ast.AST) -> str:
    """An expression on one line, cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
