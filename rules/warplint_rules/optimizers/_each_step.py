"""Where a rule of this family takes code to run in each step."""

from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Hotness


def runs_each_step(node: ast.expr, names: Pattern, facts: Facts) -> bool:
    """Whether a place runs each step: for all that is known of its callers, else by its function's name."""
    hotness = facts.hotness(node)
    function = facts.function(node)
    named = function is not None and names.fullmatch(function.name) is not None
    return hotness is Hotness.STEP or (hotness is Hotness.UNKNOWN and named)
