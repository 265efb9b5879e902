"""A tensor that a function of the project builds on the CPU, and whoever calls that function moves."""

from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.source.records import dataclass
from warplint.static.facts import Facts, Role, UseKind
from warplint.static.parsing.tree import FunctionNode, last_name
from warplint.static.values import Kind, Value
from warplint_rules._calls import has_unpacking, is_set, keyword
from warplint_rules.placement._computing import COMPUTING, computes_alone
from warplint_rules.placement._device import target
from warplint_rules.placement._journey import is_paid

MOVES = frozenset({"cuda", "to", "type_as"})

_PLAIN_KINDS = frozenset({Kind.NUMBER, Kind.NONE, Kind.STRING, Kind.DTYPE, Kind.DEVICE})
"""What a helper is handed when its result depends on sizes and settings alone."""
_SIZE = Pattern(
    r"[a-zA-Z]|(max|num|n|total)_\w+|(\w+_)?(batch|channels|count|depth|dim|height|len|length|num|seqlen|size|sz"
    r"|steps?|width)|sz"
)
"""Names of numbers that the engine does not know to be numbers."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A move of what a helper built. ``device`` is what to hand the helper, where it takes a device."""

    made: ast.Call
    device: str | None


def moved_from_helper(move: ast.Call, facts: Facts) -> Moved | None:
    """The move, if it is one of a CPU tensor that one of the project's functions builds from sizes alone."""
    function = facts.function(move)
    if not isinstance(move.func, ast.Attribute) or is_set(move, "non_blocking"):
        return None
    if not isinstance(move.func.value, _MAY_BE_MADE):
        return None
    if not is_paid(move, facts) or (function is not None and function.role is Role.DATA):
        return None
    held = facts.value(move.func.value)
    if not held.is_tensor or not held.on_cpu or held.pinned or held.ndim == 0:
        return None
    if not facts.value(move).on_accelerator:
        return None
    made = _made_by(move.func.value, facts)
    if made is None or not _is_handed_sizes(made, facts):
        return None
    helper = facts.called_function(made)
    if helper is None or not computes_alone(helper) or _is_read(made, facts):
        return None
    return Moved(made, _device(made, move, helper, facts))


_MAY_BE_MADE = (ast.Call, ast.Subscript, ast.Name)
"""What can be traced to the call that made it. Others are told before anything is evaluated for them."""


def _made_by(node: ast.expr, facts: Facts) -> ast.Call | None:
    """The call of a function of the project that an expression is the result, or a view of the result, of."""
    current: ast.expr | None = node
    while isinstance(current, _MAY_BE_MADE):
        if isinstance(current, ast.Call):
            if facts.called_function(current) is not None:
                return current
            is_method = isinstance(current.func, ast.Attribute) and current.func.attr in COMPUTING
            current = current.func.value if isinstance(current.func, ast.Attribute) and is_method else None
        elif isinstance(current, ast.Subscript):
            current = current.value
        else:
            sources = facts.sources(current)
            current = sources[0] if len(sources) == 1 and sources[0] is not current else None
    return None


def _is_handed_sizes(made: ast.Call, facts: Facts) -> bool:
    """Whether a helper is handed numbers, settings and GPU tensors: no data of the host."""
    if has_unpacking(made):
        return False
    given = [*made.args, *(word.value for word in made.keywords)]
    return all(_is_plain(facts.value(value)) or _is_size(value, facts) for value in given)


def _is_plain(value: Value) -> bool:
    if value.kind is Kind.SEQUENCE:
        parts = value.elements or (value.element,)
        return all(part is not None and _is_plain(part) for part in parts)
    return value.kind in _PLAIN_KINDS or value.on_accelerator


def _is_size(node: ast.expr, facts: Facts) -> bool:
    if isinstance(node, ast.BinOp):
        return all(
            _is_size(part, facts) or facts.value(part).kind is Kind.NUMBER for part in (node.left, node.right)
        )
    is_unknown = facts.value(node).kind is Kind.UNKNOWN
    return (
        is_unknown and isinstance(node, ast.Name | ast.Attribute) and bool(_SIZE.fullmatch(last_name(node)))
    )


def _is_read(made: ast.Call, facts: Facts) -> bool:
    return any(use.kind is UseKind.HOST for use in facts.uses(made))


def _device(made: ast.Call, move: ast.Call, helper: FunctionNode, facts: Facts) -> str | None:
    """The device to hand the helper, if it takes one and is moved where it is called."""
    assert isinstance(move.func, ast.Attribute), "a move is a method call"
    if move.func.value is not made or keyword(made, "device") is not None:
        return None
    taken = [*helper.args.posonlyargs, *helper.args.args]
    places = [argument.arg for argument in taken if argument.arg not in {"self", "cls"}]
    is_given = "device" in places[: len(made.args)]
    takes = "device" in places or any(argument.arg == "device" for argument in helper.args.kwonlyargs)
    return target(move, facts) if takes and not is_given else None
