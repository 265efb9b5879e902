"""Whether autograd records at a place, as far as the file shows."""

from __future__ import annotations

import ast
import re

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.parsing.tree import FunctionNode, below, dotted, last_name

_PLAIN_CONTEXTS = frozenset(
    {
        "Pool", "Progress", "ProcessPoolExecutor", "SummaryWriter", "TemporaryDirectory", "Timer",
        "ThreadPoolExecutor", "amp_autocast", "autocast", "catch_warnings", "device", "enable_grad",
        "nullcontext", "open", "profile", "record_function", "redirect_stdout", "stream", "timeit", "timer",
        "tqdm", "trange",
    }
)  # fmt: skip
"""Context managers that leave recording as it is. Any other may switch it off under a name of its own."""

_SWITCHING_DECORATOR = Pattern(r"\w*(eval|freeze|grad|infer|predict|valid)\w*", re.IGNORECASE)
"""Decorators that switch recording off, by their names; others register, parse arguments, measure."""

_MAX_CALLERS_DEEP = 4


def may_record(node: ast.AST, facts: Facts) -> bool:
    """Whether nothing around a place, nor around the calls that lead there, may switch recording off.

    A context manager that is not known for something else may, and a decorator by its name. A caller that
    this file does not show is taken for none.
    """
    if facts.is_called("set_grad_enabled"):
        return False
    return _may_record(node, facts, _MAX_CALLERS_DEEP)


def _may_record(node: ast.AST, facts: Facts, deep: int) -> bool:
    current: ast.AST | None = node
    while current is not None:
        if isinstance(current, ast.With | ast.AsyncWith) and not all(map(_is_plain, current.items)):
            return False
        if isinstance(current, FunctionNode) and any(map(_switches, current.decorator_list)):
            return False
        current = facts.parent(current)
    return deep == 0 or all(_may_record(call, facts, deep - 1) for call in facts.calls_of(node))


def _is_plain(item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and last_name(item.context_expr) in _PLAIN_CONTEXTS


def _switches(decorator: ast.expr) -> bool:
    return _SWITCHING_DECORATOR.fullmatch(last_name(decorator)) is not None


def freezes(function: ast.AST) -> bool:
    """Whether a function sets which parameters record, or enters a context without a ``with``."""
    for node in below(function):
        name = node.attr if isinstance(node, ast.Attribute) else ""
        if name in {"requires_grad", "requires_grad_", "enter_context", "__enter__"}:
            return True
        if isinstance(node, ast.keyword) and node.arg == "volatile":
            return True
    return False


def runs(call: ast.AST, model: str) -> bool:
    """Whether a call is the forward pass of the model of that dotted name."""
    if not isinstance(call, ast.Call):
        return False
    return dotted(call.func) in {model, f"{model}.forward", f"{model}.module"}
