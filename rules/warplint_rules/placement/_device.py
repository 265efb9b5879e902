"""The expression that names the device a tensor is needed on, and whether it can stand at the factory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from warplint.static.facts import Facts, Use, UseKind
from warplint.static.values import Kind

CUDA = '"cuda"'


def device_of(use: Use, made: ast.expr, facts: Facts) -> str | None:
    """The device at a meeting as source text, such as ``x.device``; None when no one expression names it."""
    if use.kind is UseKind.MOVED:
        return target(use.node, facts)
    if use.other is not None and use.other.like is not None:
        return f"{use.other.like}.device"
    return _parameter_device(made, facts)


def is_named(use: Use) -> bool:
    """Whether the meeting itself names its device, so that nothing about it is guessed."""
    return use.kind is UseKind.MOVED or (use.other is not None and use.other.like is not None)


def target(move: ast.AST, facts: Facts) -> str | None:
    """What ``.to(…)``, ``.cuda(…)`` or ``.type_as(…)`` moves to."""
    if not isinstance(move, ast.Call) or not isinstance(move.func, ast.Attribute):
        return None
    named = next((keyword.value for keyword in move.keywords if keyword.arg == "device"), None)
    target = named or (move.args[0] if move.args else None)
    if target is None:
        return CUDA if move.func.attr == "cuda" else None
    if facts.value(target).is_tensor:
        return f"{ast.unparse(target)}.device"
    return ast.unparse(target) if names_a_device(target, facts) else None


def names_a_device(node: ast.expr, facts: Facts) -> bool:
    """Whether the expression is a device and surely no dtype: ``.to`` takes either."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, int))
    if facts.value(node).kind is Kind.DEVICE:
        return True
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return "device" in name


def _parameter_device(made: ast.expr, facts: Facts) -> str | None:
    """The device of the first tensor that is handed to the function around."""
    function = facts.function(made)
    if function is None:
        return None
    given = _given(function.node)
    for node in ast.walk(function.node):
        if isinstance(node, ast.Name) and node.id in given and facts.value(node).on_accelerator:
            return f"{node.id}.device"
    return None


def bound_at(device: str, made: ast.expr, facts: Facts) -> bool:
    """Whether every name of the device expression has a value where the tensor is made."""
    function = facts.function(made)
    scope: ast.AST = function.node if function is not None else _outermost(made, facts)
    names = {node.id for node in ast.walk(ast.parse(device, mode="eval")) if isinstance(node, ast.Name)}
    around = set(_ancestors(made, facts))
    for name in names - _given(scope):
        stores = [node for node in ast.walk(scope) if _stores(node, name)]
        if stores and not any(
            store.lineno < made.lineno and facts.parent(facts.statement(store)) in around for store in stores
        ):
            return False
    return True


def is_conditional(use: Use, made: ast.expr, facts: Facts) -> bool:
    """Whether a condition stands between the factory and the use: ``if x.is_cuda: t = t.cuda()``."""
    around = set(_ancestors(made, facts))
    return any(
        isinstance(parent, (ast.If, ast.IfExp)) and parent not in around
        for parent in _ancestors(use.node, facts)
    )


def _given(scope: ast.AST) -> set[str]:
    return {argument.arg for argument in ast.walk(scope) if isinstance(argument, ast.arg)}


def _stores(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _ancestors(node: ast.AST, facts: Facts) -> Iterator[ast.AST]:
    parent = facts.parent(node)
    while parent is not None:
        yield parent
        parent = facts.parent(parent)


def _outermost(node: ast.AST, facts: Facts) -> ast.AST:
    return [node, *_ancestors(node, facts)][-1]
