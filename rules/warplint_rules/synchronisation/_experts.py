"""Loops over the experts of a mixture, which two rules tell from other loops."""

from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint_rules._loops import loops_around

_EXPERTS = Pattern(r"\w*expert\w*")


def is_in_expert_loop(node: ast.expr, facts: Facts) -> bool:
    """Whether a place runs once for each expert, by the names of a loop around it."""
    return any(
        not isinstance(loop, ast.While) and _is_over_experts(loop) for loop in loops_around(node, facts)
    )


def _is_over_experts(loop: ast.For | ast.AsyncFor | ast.comprehension) -> bool:
    parts = [*ast.walk(loop.target), *ast.walk(loop.iter)]
    names = (part.id if isinstance(part, ast.Name) else getattr(part, "attr", "") for part in parts)
    return any(_EXPERTS.fullmatch(name) for name in names)
