"""How an ``if`` changes how often its branches run."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable

from warplint.static.tables import frequency
from warplint.static.tree import children, dotted


class Effect(enum.Enum):
    """What a branch does to the frequency around it."""

    NONE = "as often"
    SPARSE = "now and then: every N steps, on one rank, when something is logged"
    ONCE = "the first time: it fills a cache"


def effect(statement: ast.If, taken: bool, body: Iterable[ast.stmt]) -> Effect:
    """How often a branch of an ``if`` runs: the one where its test is true (``taken``), or the other one."""
    parts, conjunction = _parts(statement.test, taken)
    effects = [_effect_of(part, truth, body) for part, truth in parts]
    if conjunction:
        return next((found for found in (Effect.ONCE, Effect.SPARSE) if found in effects), Effect.NONE)
    return effects[0] if len(set(effects)) == 1 else Effect.NONE


def _parts(test: ast.expr, truth: bool) -> tuple[list[tuple[ast.expr, bool]], bool]:
    """The conditions that decide a branch, each with the truth it needs, and whether it needs them all."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    if not isinstance(test, ast.BoolOp):
        return [(test, truth)], True
    parts = [part for operand in test.values for part in _parts(operand, truth)[0]]
    return parts, isinstance(test.op, ast.And) is truth


def _effect_of(test: ast.expr, truth: bool, body: Iterable[ast.stmt]) -> Effect:
    filled = _cached(test, truth)
    if filled is not None:
        return Effect.ONCE if _stores(body, filled) else Effect.NONE
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(test.left, test.ops[0], test.comparators[0], truth)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        return Effect.NONE if truth else Effect.SPARSE
    words = _words(test)
    if words & frequency.TRACING and truth:
        return Effect.ONCE
    return Effect.SPARSE if truth and words & frequency.SPARSE_WORDS else Effect.NONE


def _cached(test: ast.expr, truth: bool) -> str | None:
    """The attribute or container that a branch finds empty: ``self.mask is None``, ``key not in self.masks``."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator, other = test.ops[0], test.comparators[0]
        is_none = isinstance(other, ast.Constant) and other.value is None
        if is_none and isinstance(operator, ast.Is if truth else ast.IsNot):
            return _lasting(test.left)
        if isinstance(operator, ast.NotIn if truth else ast.In):
            return _lasting(other)
    if (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "hasattr"
        and not truth
    ):
        if len(test.args) == 2 and isinstance(test.args[0], ast.Name):
            return _member(test.args[0].id, test.args[1])
    if isinstance(test, ast.Attribute) and not truth:
        return _lasting(test)
    return None


def _lasting(node: ast.expr) -> str | None:
    """The dotted name of what outlives a call; a local name does not."""
    name = dotted(node)
    return name if name is not None and "." in name else None


def _stores(body: Iterable[ast.stmt], name: str) -> bool:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node) == name:
                return True
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.ctx, ast.Store)
                and dotted(node.value) == name
            ):
                return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "register_buffer" and _registered(node) == name:
                    return True
    return False


def _registered(call: ast.Call) -> str | None:
    owner = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return _member(owner, call.args[0]) if owner and call.args else None


def _member(owner: str, name: ast.expr) -> str | None:
    text = name.value if isinstance(name, ast.Constant) else None
    return f"{owner}.{text}" if isinstance(text, str) else None


def _comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, truth: bool) -> Effect:
    equal = isinstance(operator, ast.Eq if truth else ast.NotEq)
    if _is_modulo(left) or _is_modulo(right):
        # ``step % n != 0`` holds on most steps, ``step % n == 0`` and ``step % n == n - 1`` on one of n.
        return Effect.SPARSE if equal else Effect.NONE
    if _is_counter(left) and (equal or isinstance(operator, ast.In if truth else ast.NotIn)):
        return Effect.SPARSE
    words = _words(left) | _words(right)
    if equal and words & frequency.SPARSE_WORDS and isinstance(right, ast.Constant):
        return Effect.SPARSE
    return Effect.NONE


def _is_modulo(node: ast.expr) -> bool:
    return any(isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod) for inner in _arithmetic(node))


def _arithmetic(node: ast.expr) -> Iterable[ast.expr]:
    yield node
    if isinstance(node, ast.BinOp):
        yield from _arithmetic(node.left)
        yield from _arithmetic(node.right)


def _is_counter(node: ast.expr) -> bool:
    name = dotted(node)
    return name is not None and frequency.COUNTER.fullmatch(name.rpartition(".")[2]) is not None


def _words(node: ast.AST) -> set[str]:
    """The words of the names in an expression: ``args.log_interval`` gives ``args``, ``log``, ``interval``."""
    words: set[str] = set()
    stack = [node]
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Name):
            words.update(_split(inner.id))
        elif isinstance(inner, ast.Attribute):
            words.update(_split(inner.attr))
        stack.extend(children(inner))
    return words


def _split(name: str) -> Iterable[str]:
    return [name, *name.lower().strip("_").split("_")]
