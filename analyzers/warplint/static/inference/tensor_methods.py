"""What the methods of a tensor give."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from warplint.static import domain
from warplint.static.inference.arguments import Given
from warplint.static.inference.moves import moved
from warplint.static.tables import torch_methods
from warplint.static.values import UNKNOWN, Kind, Value


def result(name: str, held: Value, given: Given, values: Mapping[ast.AST, Value]) -> Value:
    """What the method ``name`` of the tensor ``held`` gives."""
    if name in torch_methods.READS:
        return domain.SHAPE if name == "tolist" else Value(torch_methods.READS[name])
    if name in torch_methods.MOVES:
        return moved(name, held, given, values)
    if name in torch_methods.SIZES:
        return domain.NUMBER if given.all else domain.SHAPE
    if name in torch_methods.NUMBERS:
        return domain.NUMBER
    if name in torch_methods.DTYPES:
        return domain.tensor(held.place, held.like, held.ndim, torch_methods.DTYPES[name], held.device)
    if not gives_tensor(name):
        # What a model returns is kept as one tensor; a container's methods then stand for its elements.
        return held if name in torch_methods.CONTAINER_METHODS else UNKNOWN
    return _computed(name, held, given)


def gives_tensor(name: str) -> bool:
    """Whether a method of a tensor gives a tensor on the same device; in-place forms end in an underscore."""
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    return plain in torch_methods.SAME_DEVICE or name in torch_methods.SAME_DEVICE


def _computed(name: str, held: Value, given: Given) -> Value:
    if name in torch_methods.TUPLES or (name in torch_methods.PAIRS_WITH_DIM and names_dim(given, 0)):
        return domain.sequence(domain.tensor(held.place, held.like))
    if name in torch_methods.REDUCTIONS and not given.all:
        return domain.tensor(held.place, held.like, 0, dtype_after(name, held))
    if name in torch_methods.UNCHANGED or name.endswith("_"):
        return held
    if name in torch_methods.SHAPED_LIKE:
        return domain.tensor(held.place, held.like, None, dtype_after(name, held))
    combined = domain.combine([held, *given.tensors])
    return domain.tensor(combined.place, combined.like, None, dtype_after(name, held))


def names_dim(given: Given, position: int) -> bool:
    """Whether a reduction is told a dimension, which makes ``max`` and its like give two tensors."""
    if "dim" in given.named:
        return True
    return len(given.positional) > position and given.positional[position].kind is not Kind.TENSOR


def dtype_after(name: str, held: Value) -> str | None:
    """The dtype of what a method gives, where that is known."""
    if name in torch_methods.PREDICATES:
        return "torch.bool"
    if name in torch_methods.INTEGER_RESULTS:
        return "torch.int64"
    return held.dtype if name in torch_methods.KEEPS_DTYPE else None
