"""Which statements run in every step, with no condition of their own."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts, Role
from warplint.static.finding import Hotness
from warplint.static.parsing.tree import FunctionNode, LoopNode, children, last_name
from warplint.static.tables.frequency import BACKWARD, OPTIMIZER
from warplint_rules._loops import loops_around

MEASURES = frozenset({"max_memory_allocated", "max_memory_reserved", "reset_peak_memory_stats"})
"""What a loop calls that measures how much memory is needed: there a clean cache is the point."""


def runs_each_step(node: ast.expr, facts: Facts) -> bool:
    """Whether a call stands, unconditionally, in a loop that trains, or in a function that is a step."""
    if facts.hotness(node) is not Hotness.STEP:
        return False
    loops = loops_around(node, facts)
    if loops:
        loop = loops[0]
        return isinstance(loop, LoopNode) and _trains(loop) and _is_unconditional(node, loop, facts)
    function = facts.function(node)
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    is_forward = function.class_role == "module" and function.role is Role.FORWARD
    is_step = is_forward or function.role is Role.TRAIN_STEP or _trains(function.node)
    return is_step and _is_unconditional(node, function.node, facts)


def measures_memory(node: ast.expr, facts: Facts) -> bool:
    """Whether the innermost loop around a call measures memory."""
    loops = loops_around(node, facts)
    return bool(loops) and any(
        isinstance(part, ast.Call) and last_name(part) in MEASURES for part in ast.walk(loops[0])
    )


def _trains(around: LoopNode | FunctionNode) -> bool:
    """Whether each round of a loop, or run of a function, runs backward or an optimizer itself."""
    stack: list[ast.AST] = [*around.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _marks_step(node.func):
            return True
        if not isinstance(node, LoopNode | FunctionNode | ast.Lambda):
            stack.extend(children(node))
    return False


def _marks_step(called: ast.Attribute) -> bool:
    if called.attr == "step":
        return OPTIMIZER.fullmatch(last_name(called.value)) is not None
    return called.attr in BACKWARD


def _is_unconditional(node: ast.AST, around: ast.AST, facts: Facts) -> bool:
    """Whether nothing between a node and what is around it decides whether it runs."""
    below, above = node, facts.parent(node)
    while above is not None and above is not around:
        if isinstance(above, ast.Try) and below not in above.body and below not in above.finalbody:
            return False
        if not isinstance(above, ast.With | ast.AsyncWith | ast.Expr | ast.Try):
            return False
        below, above = above, facts.parent(above)
    return above is around and not _follows_way_out(below, around)


def _follows_way_out(statement: ast.AST, around: ast.AST) -> bool:
    """Whether a statement before this one in the body may end the round: what then runs is rare."""
    body = getattr(around, "body", [])
    before = body[: body.index(statement)] if statement in body else []
    return any(
        isinstance(earlier, ast.If)
        and isinstance(earlier.body[-1], ast.Continue)
        and any(isinstance(part, ast.Mod) for part in ast.walk(earlier.test))
        for earlier in before
    )
