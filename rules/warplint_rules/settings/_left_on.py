"""Whether a switch is left on for every run, or is there for those who ask for it."""

from __future__ import annotations

import ast
import re

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.parsing.tree import FunctionNode
from warplint.static.structure.location import is_aside

_HARDWARE = Pattern(r"__name__|is_available|device_count|\b(use_)?(cuda|gpu)\b|device", re.IGNORECASE)
"""What a condition says that holds in every run on a GPU."""

_PURPOSE = Pattern(
    r"debug|anomal|determin|reproduc|parity|sanity|diagnos|profil|bench|hook|callback|plugin"
    r"|(^|_)seed|(^|_)tests?(_|$)",
    re.IGNORECASE,
)
"""Functions, classes and files that are there for finding faults or for the same numbers in each run."""


def is_asked_for(node: ast.AST, facts: Facts) -> bool:
    """Whether a place runs on request only: where a flag is set, or in what is named for such work."""
    if _PURPOSE.search(facts.path.stem) or is_aside(facts.path):
        return True
    below, above = node, facts.parent(node)
    while above is not None:
        if isinstance(above, FunctionNode | ast.ClassDef) and _PURPOSE.search(above.name):
            return True
        if isinstance(above, ast.ExceptHandler):
            return True
        if isinstance(above, ast.If | ast.IfExp) and not _runs_by_default(above, below):
            return True
        below, above = above, facts.parent(above)
    return False


def _runs_by_default(choice: ast.If | ast.IfExp, part: ast.AST) -> bool:
    if part is choice.test:
        return True
    body = choice.body if isinstance(choice.body, list) else [choice.body]
    return _holds_by_default(choice.test, part in body)


def _holds_by_default(test: ast.expr, truth: bool) -> bool:
    """Whether a branch is taken where no flag is set: for a GPU, in the file being run, ``if not flag:``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _holds_by_default(test.operand, not truth)
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) is truth and all(
            _holds_by_default(part, truth) for part in test.values
        )
    if _HARDWARE.search(ast.unparse(test)) is not None:
        return truth
    return not truth and isinstance(test, ast.Name | ast.Attribute)
