"""A tensor that a function of the project builds on the CPU, and whoever calls that function moves."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.source.records import dataclass
from warplint.static.facts import Facts, Role, UseKind
from warplint.static.tables.words import words
from warplint.static.tree import FunctionNode, children, dotted, last_name
from warplint.static.values import Kind, Value
from warplint_rules._calls import has_unpacking, is_set, keyword
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

_LIBRARIES = frozenset({"F", "functional", "math", "np", "numpy", "t", "th", "torch"})
"""How the modules are called whose functions build and compute."""
_READS = words("cpu from_file frombuffer fromfile genfromtxt item load loadtxt memmap numpy open tolist")
"""What brings in content from elsewhere, or reads what the GPU holds."""
_COMPUTING = words(
    """
    abs add append arange argsort astype bool clamp clone contiguous copy cos cumsum dim div div_ double exp
    expand extend eye fill_ fill_diagonal_ flatten flip float format gather ge gt half int le log long lt
    masked_fill masked_fill_ matmul mean mul mul_ ndim new_full new_ones new_tensor new_zeros numel permute
    pow range repeat reshape roll round scatter scatter_ sin size sqrt squeeze stack sub sub_ sum t
    to transpose tril tril_ triu triu_ type type_as unbind unsqueeze view zero_
    """
)
"""Methods of tensors, arrays and lists that add nothing from elsewhere."""


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
    if helper is None or not _builds_alone(helper) or _is_read(made, facts):
        return None
    return Moved(made, _device(made, move, helper, facts))


def _made_by(node: ast.expr, facts: Facts) -> ast.Call | None:
    """The call of a function of the project that an expression is the result, or a view of the result, of."""
    current: ast.expr | None = node
    while current is not None:
        if isinstance(current, ast.Call):
            if facts.called_function(current) is not None:
                return current
            is_method = isinstance(current.func, ast.Attribute) and current.func.attr in _COMPUTING
            current = current.func.value if isinstance(current.func, ast.Attribute) and is_method else None
        elif isinstance(current, ast.Subscript):
            current = current.value
        elif isinstance(current, ast.Name):
            sources = facts.sources(current)
            current = sources[0] if len(sources) == 1 and sources[0] is not current else None
        else:
            return None
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


def _builds_alone(helper: FunctionNode) -> bool:
    """Whether a helper makes its tensor of its arguments alone: no state, no file, no other function."""
    nodes = list(_computation(helper))
    bound = {argument.arg for argument in ast.walk(helper.args) if isinstance(argument, ast.arg)}
    bound.update(
        node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )
    for node in nodes:
        if isinstance(node, ast.Call) and not _computes(node.func, bound):
            return False
        if isinstance(node, ast.Name) and not (node.id in bound or node.id.isupper() or _is_public(node.id)):
            return False
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return False
        if isinstance(node, ast.For | ast.comprehension) and last_name(node.iter) != "range":
            return False
    return True


def _computation(helper: FunctionNode) -> Iterator[ast.AST]:
    """The nodes of a function that run when it is called: no defaults, decorators and annotations."""
    stack: list[ast.AST] = [*helper.body]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(
            child
            for child in children(node)
            if not isinstance(node, ast.AnnAssign) or child is not node.annotation
        )


def _is_public(name: str) -> bool:
    return name in _LIBRARIES or hasattr(builtins, name)


def _computes(called: ast.expr, bound: set[str]) -> bool:
    """Whether a call works out its result from what it is handed."""
    name = last_name(called)
    if isinstance(called, ast.Name):
        return hasattr(builtins, name) and name not in _READS
    if name in _READS or not isinstance(called, ast.Attribute):
        return False
    root = (dotted(called) or "").partition(".")[0]
    return root in _LIBRARIES - bound or name in _COMPUTING


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
