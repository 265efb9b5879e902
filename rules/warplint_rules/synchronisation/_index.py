"""The parts of an index, as the rules about indexing tell them apart."""

from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.parsing.tree import last_name
from warplint.static.values import Kind, Value

_MASK = Pattern(r"(\w*_)?(masks?|valid|invalid|keep|is_\w+|nan)(_\w+)?|\w*mask")
_POSITIONS = Pattern(r"(\w*_)?(idxs?|inds?|index|indexes|indices|ids|perm|permutation)(_\w+)?")
"""Names of tensors whose element type the engine does not know."""
_INTEGERS = {"torch.int64", "torch.int32", "torch.int16", "torch.int8", "torch.long", "torch.int"}


def index_parts(subscript: ast.Subscript) -> list[ast.expr]:
    """What stands between the brackets, apart."""
    index = subscript.slice
    return index.elts if isinstance(index, ast.Tuple) else [index]


def masks(subscript: ast.Subscript, facts: Facts) -> list[ast.expr]:
    """The parts that are boolean tensors on the GPU."""
    return [part for part in index_parts(subscript) if is_mask(part, facts)]


def positions(subscript: ast.Subscript, facts: Facts) -> list[ast.expr]:
    """The parts that are tensors of integers on the GPU, of one dimension or more."""
    return [part for part in index_parts(subscript) if is_positions(part, facts)]


def is_mask(part: ast.expr, facts: Facts) -> bool:
    value = facts.value(part)
    if not value.on_accelerator or value.ndim == 0:
        return False
    return value.dtype == "torch.bool" or (value.dtype is None and _reads_as_mask(part))


def is_positions(part: ast.expr, facts: Facts) -> bool:
    value = facts.value(part)
    if not value.on_accelerator or value.ndim == 0 or is_mask(part, facts):
        return False
    name = last_name(part)
    named = _POSITIONS.fullmatch(name) is not None and "mask" not in name
    return value.dtype in _INTEGERS or (value.dtype is None and named)


def _reads_as_mask(part: ast.expr) -> bool:
    """Whether a tensor of unknown type is a mask by its form or name: nobody inverts positions."""
    if isinstance(part, ast.UnaryOp):
        return isinstance(part.op, ast.Invert)
    return isinstance(part, (ast.Name, ast.Attribute)) and _MASK.fullmatch(last_name(part)) is not None


def indexed(subscript: ast.Subscript, facts: Facts) -> Value | None:
    """The tensor on the GPU that is indexed; None where it may be something else.

    What is indexed with a tensor on the GPU can only be a tensor there.
    """
    value = facts.value(subscript.value)
    if value.on_accelerator:
        return value
    is_tensor = any(facts.value(part).on_accelerator for part in index_parts(subscript))
    return facts.value(subscript) if value.kind is Kind.UNKNOWN and is_tensor else None
