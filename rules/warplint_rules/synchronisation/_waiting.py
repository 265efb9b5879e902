"""What the rules of this family share: where a wait counts, how sure it is, how a message says it."""

from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts, UseKind
from warplint.static.finding import Applicability, Confidence, Hotness
from warplint.static.rule import Verdict
from warplint.static.tree import FunctionNode
from warplint.static.values import Kind, Place, Value
from warplint_rules._calls import argument
from warplint_rules._roles import QUIET_ROLES

CASTS = frozenset({"bool", "complex", "float", "int"})
"""What makes a Python number of a tensor."""
STEPS = frozenset({"backward", "step", "zero_grad"})
"""Methods that a training loop calls."""

_SELDOM = Pattern(r"_*(un)?merge(_adapter|_weights?)?|\w*(get_or_create|verify)\w*")
"""Functions that hot code calls once, or on the way to something else than a step."""


def counts(node: ast.expr, facts: Facts) -> bool:
    """Whether a wait at this place is paid every step."""
    if facts.hotness(node) is not Hotness.STEP:
        return False
    function = facts.function(node)
    if function is not None and (function.role in QUIET_ROLES or _SELDOM.fullmatch(function.name)):
        return False
    return not _is_kept(node, facts)


def _is_kept(node: ast.expr, facts: Facts) -> bool:
    """Whether the place only fills a cache: under ``if x is None:``, in which ``x`` is then put away."""
    below: ast.AST = node
    above = facts.parent(node)
    while above is not None and not isinstance(above, FunctionNode):
        if isinstance(above, ast.If) and below is not above.test and _keeps(above):
            return True
        below, above = above, facts.parent(above)
    return False


def _keeps(branch: ast.If) -> bool:
    test = branch.test
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
        return False
    if not isinstance(test.ops[0], ast.Is):
        return False
    name = test.left.id
    return any(
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Name)
        and statement.value.id == name
        and any(isinstance(target, ast.Subscript | ast.Attribute) for target in statement.targets)
        for statement in branch.body
    )


def waiting(
    node: ast.expr,
    read: Value,
    message: str,
    fix: Applicability = Applicability.NONE,
    title: str = "",
) -> Verdict:
    """A finding that is as sure as it is that the tensor whose content is ``read`` is on the GPU."""
    proven = read.place is Place.ACCELERATOR
    return Verdict(node, message, Confidence.CERTAIN if proven else Confidence.LIKELY, fix, title)


def host_waits(node: ast.expr, facts: Facts) -> str:
    """What a message says of a call, after naming it."""
    return f"makes the host wait {facts.why_hot(node)} for all the work queued on the GPU"


def is_scalar(value: Value) -> bool:
    """Whether a value is surely a GPU tensor of no dimensions."""
    return value.on_accelerator and value.ndim == 0


def operand(call: ast.Call, facts: Facts) -> ast.expr | None:
    """The tensor a call works on: the one whose method it is, or the first argument of a function."""
    if isinstance(call.func, ast.Attribute) and facts.value(call.func.value).kind is Kind.TENSOR:
        return call.func.value
    if facts.qualified(call.func) is None:
        return None
    return argument(call, 0, "input", "self", "A", "tensor")


def position_after(call: ast.Call, subject: ast.expr | None, position: int) -> int:
    """Where a function's argument stands if ``subject`` may be the one whose method is called."""
    is_method = isinstance(call.func, ast.Attribute) and call.func.value is subject
    return position - 1 if is_method else position


def goes_to_the_host(node: ast.expr, facts: Facts) -> bool:
    """Whether Python reads the result at once anyway, so that the wait would only move."""
    uses = facts.uses(node)
    return bool(uses) and all(use.kind is UseKind.HOST for use in uses)
