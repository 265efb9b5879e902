"""What Lightning does for its modules, as several rules have to know."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Hotness
from warplint.static.parsing.tree import FunctionNode, last_name

LOGGING = {"log", "log_dict"}
STEPS = {"training_step", "validation_step", "test_step", "predict_step"}


def lightning_class(node: ast.AST, facts: Facts) -> ast.ClassDef | None:
    """The Lightning module whose method a place is in, by its base or by the steps that it defines."""
    current = facts.parent(node)
    while current is not None and not isinstance(current, ast.ClassDef):
        current = facts.parent(current)
    if current is None:
        return None
    by_base = any("Lightning" in last_name(base) for base in current.bases)
    own = {part.name for part in current.body if isinstance(part, FunctionNode)}
    return current if current.bases and (by_base or "training_step" in own) else None


def logging_call(node: ast.expr, facts: Facts) -> ast.Call | None:
    """The call of ``self.log`` or ``self.log_dict`` that an expression is handed to, maybe in a dict."""
    above = facts.parent(node)
    if isinstance(above, ast.keyword):
        if above.arg not in {"value", "dictionary"}:
            return None
        above = facts.parent(above)
    if isinstance(above, ast.Dict):
        return logging_call(above, facts)
    if not isinstance(above, ast.Call) or not is_logging(above) or node is above.func:
        return None
    return above if lightning_class(above, facts) is not None else None


def is_logging(call: ast.Call) -> bool:
    """Whether a call has the form of Lightning's ``self.log``."""
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in LOGGING
        and isinstance(function.value, ast.Name)
        and function.value.id == "self"
    )


def runs_each_step(node: ast.AST, facts: Facts) -> bool:
    """Whether a place in a Lightning module runs in every step, also where its bases are not known."""
    hotness = facts.hotness(node)
    if hotness is not Hotness.UNKNOWN:
        return hotness is Hotness.STEP
    function = facts.function(node)
    return function is not None and function.name in STEPS
