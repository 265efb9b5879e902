"""What the rules of this family share: where a wait counts, how sure it is, how a message says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts, UseKind
from warplint.static.finding import Applicability, Confidence, Hotness
from warplint.static.parsing.tree import FunctionNode
from warplint.static.rules.rule import Verdict
from warplint.static.values import Kind, Place, Value
from warplint_rules._calls import argument
from warplint_rules._programs import stays_on_cpu
from warplint_rules._roles import QUIET_ROLES
from warplint_rules._tests import is_among_tests

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
    if _is_kept(node, facts) or _is_said_of_failure(node, facts):
        return False
    return not (is_among_tests(facts) or stays_on_cpu(facts))


def _is_said_of_failure(node: ast.expr, facts: Facts) -> bool:
    """Whether it stands in what an assertion says when it fails, which is put together only then."""
    statement = facts.statement(node)
    if not isinstance(statement, ast.Assert) or statement.msg is None:
        return False
    return any(part is node for part in ast.walk(statement.msg))


def is_read_by_test(read: ast.expr, node: ast.expr, facts: Facts) -> bool:
    """Whether the test of the branch around has just read the same, so that nothing is queued by then."""
    below: ast.AST = node
    above = facts.parent(node)
    while above is not None and not isinstance(above, _APART):
        if isinstance(above, ast.If) and below is not above.test:
            names = {part.id for part in ast.walk(read) if isinstance(part, ast.Name)}
            texts = {ast.unparse(asked) for asked in _asked(above.test, facts)}
            return ast.unparse(read) in texts and not _binds_before(node, above, names)
        below, above = above, facts.parent(above)
    return False


_APART = (FunctionNode, ast.Lambda, ast.For, ast.AsyncFor, ast.While)
"""What runs at another time, or more often, than the test around it."""


def _asked(test: ast.expr, facts: Facts) -> Iterator[ast.expr]:
    """The GPU tensors whose content a test reads."""
    for part in ast.walk(test):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "item":
            yield part.func.value
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in CASTS:
            yield from part.args
        elif isinstance(part, ast.Compare) and isinstance(part.ops[0], _ORDER):
            yield from (side for side in (part.left, *part.comparators) if facts.value(side).on_accelerator)
    if facts.value(test).on_accelerator:
        yield test


_ORDER = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _binds_before(node: ast.expr, branch: ast.If, names: set[str]) -> bool:
    """Whether a branch has given one of the names another value by then."""
    return any(
        isinstance(part, ast.Name)
        and isinstance(part.ctx, ast.Store)
        and part.id in names
        and part.lineno < node.lineno
        for statement in (*branch.body, *branch.orelse)
        for part in ast.walk(statement)
    )


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
