"""How an ``if`` changes how often its branches run."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from warplint.static.parsing.blocks import Block, BlockKind, Effect
from warplint.static.parsing.tree import below, dotted, last_name
from warplint.static.structure import places
from warplint.static.tables import frequency


def effect_of(block: Block) -> Effect:
    """How much rarer a branch or handler runs than what is around it; kept with the block."""
    if block.effect is None:
        block.effect = _find(block)
    return block.effect


def _find(block: Block) -> Effect:
    if block.leaves == "raise":
        return Effect.NEVER
    by_test = Effect.NONE
    if isinstance(block.node, ast.If):
        by_test = _by_test(block.node, block.kind is BlockKind.TAKEN, _body(block, block.node))
        if by_test is Effect.NONE and _fills_shared(block):
            by_test = Effect.ONCE
    is_rare = block.kind is BlockKind.HANDLER or block.leaves == "break" or _leaves_early(block)
    return Effect.SPARSE if by_test is Effect.NONE and is_rare else by_test


def _fills_shared(block: Block) -> bool:
    """Whether a branch fills a container of the module: ``if size not in windows: windows[size] = …``."""
    branch = block.node
    if block.function is None or block.kind is not BlockKind.TAKEN or not isinstance(branch, ast.If):
        return False
    test = branch.test
    if not isinstance(test, ast.Compare):
        return False
    shared = test.comparators[0]
    if not isinstance(test.ops[0], ast.NotIn) or not isinstance(shared, ast.Name):
        return False
    function = block.function.node
    own = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            own.add(part.id)
    return shared.id not in own and any(
        _fills(node, shared.id) for part in branch.body for node in below(part)
    )


def _leaves_early(block: Block) -> bool:
    """Whether a branch leaves because a tensor has no elements: ``if x.size(0) == 0: return …``."""
    test = block.node.test if isinstance(block.node, ast.If) else None
    if block.leaves is None or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    is_empty = isinstance(test.ops[0], ast.Eq) and _is_zero(test.comparators[0])
    measured = test.left.value if isinstance(test.left, ast.Subscript) else test.left
    measure = measured.func if isinstance(measured, ast.Call) else measured
    by_measure = isinstance(measure, ast.Attribute) and measure.attr in frequency.MEASURES
    return block.kind is BlockKind.TAKEN and is_empty and by_measure


def _body(block: Block, statement: ast.If) -> list[ast.stmt]:
    """The statements of a branch; after an ``if`` that leaves, what ends later in the function stands in."""
    if block.kind is BlockKind.TAKEN:
        return statement.body
    if statement.orelse or block.function is None:
        return statement.orelse
    return [part for part in block.function.node.body if _end(part) > _end(statement)]


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _by_test(statement: ast.If, taken: bool, body: Iterable[ast.stmt]) -> Effect:
    """How often a branch of an ``if`` runs: the one where its test is true (``taken``), or the other one."""
    parts, conjunction = _parts(statement.test, taken)
    effects = [_of_part(part, truth, body) for part, truth in parts]
    if conjunction:
        return next((found for found in _STRONGEST if found in effects), Effect.NONE)
    if _refills(parts, body):
        return Effect.SPARSE
    return effects[0] if len(set(effects)) == 1 else Effect.NONE


def _refills(parts: list[tuple[ast.expr, bool]], body: Iterable[ast.stmt]) -> bool:
    """Whether what is kept is made again where it does not fit: ``self.x is None or len(self.x) < n``."""
    first, *others = parts
    cache = _empty_cache(*first)
    return (
        cache is not None
        and _of_part(*first, body) is Effect.ONCE
        and all(_asks_of(cache, part) for part, _ in others)
    )


def _asks_of(cache: str, test: ast.expr) -> bool:
    return any(isinstance(node, ast.Attribute) and dotted(node) == cache for node in ast.walk(test))


def _parts(test: ast.expr, truth: bool) -> tuple[list[tuple[ast.expr, bool]], bool]:
    """The conditions that decide a branch, each with the truth it needs, and whether it needs them all."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    if not isinstance(test, ast.BoolOp):
        return [(test, truth)], True
    parts = [part for operand in test.values for part in _parts(operand, truth)[0]]
    return parts, isinstance(test.op, ast.And) is truth


_STRONGEST = (Effect.ON_CPU, Effect.ONCE, Effect.SPARSE)


def _of_part(test: ast.expr, truth: bool, body: Iterable[ast.stmt]) -> Effect:
    if places.is_on_cpu(test, truth):
        return Effect.NONE if places.leaves_cpu(test, body) else Effect.ON_CPU
    cache = _empty_cache(test, truth)
    if cache is not None:
        return (
            Effect.ONCE if any(_fills(node, cache) for part in body for node in below(part)) else Effect.NONE
        )
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(test.left, test.ops[0], test.comparators[0], truth)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        return Effect.NONE if truth else Effect.SPARSE
    words = _words(test) if truth else frozenset()
    if words & frequency.TRACING:
        return Effect.ONCE
    return Effect.SPARSE if words & frequency.SPARSE_WORDS else Effect.NONE


def _empty_cache(test: ast.expr, truth: bool) -> str | None:
    """The attribute or container a branch finds empty: ``self.mask is None``, ``k not in self.masks``."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator, other = test.ops[0], test.comparators[0]
        if isinstance(operator, ast.Eq if truth else ast.NotEq) and _is_zero(other):
            return _measured(test.left)
        is_none = isinstance(other, ast.Constant) and other.value is None
        if is_none and isinstance(operator, ast.Is if truth else ast.IsNot):
            return _lasting(test.left)
        return _lasting(other) if isinstance(operator, ast.NotIn if truth else ast.In) else None
    if truth:
        return None
    if isinstance(test, ast.Call) and last_name(test.func) == "hasattr" and len(test.args) == 2:
        return _member(test.args[0], test.args[1])
    return _lasting(test)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _measured(node: ast.expr) -> str | None:
    """The container in ``len(state)``: optimizers hold their state in a local name."""
    is_length = isinstance(node, ast.Call) and last_name(node.func) == "len" and len(node.args) == 1
    return dotted(node.args[0]) if is_length and isinstance(node, ast.Call) else None


def _lasting(node: ast.expr) -> str | None:
    """The dotted name of what outlives a call; a local name does not."""
    name = dotted(node)
    return name if name is not None and "." in name else None


def _fills(node: ast.AST, cache: str) -> bool:
    """Whether a node puts something into the attribute or container."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Store) and dotted(node) == cache
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and dotted(node.value) == cache
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr in {"copy_", "fill_"}:
            return dotted(node.func.value) in {cache, f"{cache}.data"}
        return node.func.attr == "register_buffer" and _member(node.func.value, node.args[0]) == cache
    return False


def _member(owner: ast.expr, name: ast.expr) -> str | None:
    text = name.value if isinstance(name, ast.Constant) else None
    return f"{dotted(owner)}.{text}" if isinstance(text, str) else None


_NAMED = (ast.Name, ast.Attribute)


def _comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, truth: bool) -> Effect:
    is_equal = isinstance(operator, ast.Eq if truth else ast.NotEq)
    is_member = isinstance(operator, ast.In if truth else ast.NotIn)
    if _has_modulo(left) or _has_modulo(right):
        # ``step % n != 0`` holds on most steps, ``step % n == 0`` and ``step % n == n - 1`` on one of n.
        return Effect.SPARSE if is_equal else Effect.NONE
    if _is_counter(left) and (is_equal or is_member):
        return Effect.SPARSE
    words = _words(left)
    is_flag = (is_equal and isinstance(right, ast.Constant)) or (is_member and _is_listed(right))
    if is_flag and words & frequency.SPARSE_WORDS:
        return Effect.SPARSE
    bound = (_FIRST if truth else _FURTHER).get(type(operator))
    is_first = bound is not None and isinstance(right, ast.Constant) and right.value == bound
    return Effect.SPARSE if is_first and words & frequency.RANKS else Effect.NONE


_FIRST: dict[type[ast.cmpop], int] = {ast.Lt: 1, ast.LtE: 0}
"""``rank < 1``, ``rank <= 0``: the first process, or the only one, whose rank may be -1."""
_FURTHER: dict[type[ast.cmpop], int] = {ast.GtE: 1, ast.Gt: 0}


def _is_listed(node: ast.expr) -> bool:
    """Whether values are listed: ``rank in [-1, 0]``."""
    if not isinstance(node, ast.List | ast.Tuple | ast.Set):
        return False
    values = [part.operand if isinstance(part, ast.UnaryOp) else part for part in node.elts]
    return all(isinstance(value, ast.Constant) for value in values)


def _has_modulo(node: ast.expr) -> bool:
    if not isinstance(node, ast.BinOp):
        return False
    return isinstance(node.op, ast.Mod) or _has_modulo(node.left) or _has_modulo(node.right)


def _is_counter(node: ast.expr) -> bool:
    return dotted(node) is not None and frequency.COUNTER.fullmatch(last_name(node)) is not None


def _words(node: ast.AST) -> frozenset[str]:
    """The words of an expression's names: ``args.log_interval`` gives ``args``, ``log``, ``interval``."""
    named = [last_name(inner) for inner in below(node) if isinstance(inner, _NAMED)]
    # Where something is to go is said once, and says nothing of how often it goes there.
    names = [name for name in named if not name.endswith(frequency.PLACES)]
    parts = [part for name in names for part in name.lower().split("_")]
    return frozenset([*names, *parts])
