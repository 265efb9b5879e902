"""What type annotations say of a value."""

from __future__ import annotations

import ast

from warplint.static import domain
from warplint.static.parsing.tree import last_name
from warplint.static.tables import naming
from warplint.static.values import UNKNOWN, Kind, Value


def annotated(annotation: ast.expr | None) -> Value:
    """The value an annotation promises; UNKNOWN where it says nothing we can use."""
    if annotation is None:
        return UNKNOWN
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return annotated(ast.parse(annotation.value, mode="eval").body)
        except (SyntaxError, ValueError):
            return UNKNOWN
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _either([annotation.left, annotation.right])
    if isinstance(annotation, ast.Subscript):
        return _generic(annotation)
    return _named(last_name(annotation))


def _named(name: str) -> Value:
    if name in naming.TENSOR_ANNOTATIONS:
        return domain.tensor()
    if name in naming.NUMBER_ANNOTATIONS:
        return domain.NUMBER
    if name in naming.SEQUENCE_ANNOTATIONS:
        return domain.SEQUENCE
    return _OTHERS.get(name, UNKNOWN)


_OTHERS = {
    "str": domain.STRING,
    "bytes": domain.STRING,
    "ndarray": domain.NDARRAY,
    "NDArray": domain.NDARRAY,
    "ArrayLike": domain.NDARRAY,
    "Module": Value(Kind.MODULE),
    "DataLoader": Value(Kind.LOADER),
    "Optimizer": Value(Kind.OPTIMIZER),
    "Dataset": Value(Kind.DATASET),
    "device": domain.LIKELY_DEVICE,
    "dtype": domain.DTYPE,
    "Callable": domain.CALLABLE,
}


def _generic(annotation: ast.Subscript) -> Value:
    name = last_name(annotation.value)
    inside = annotation.slice
    arguments = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if name == "Optional":
        return annotated(arguments[0])
    if name == "Union":
        return _either(arguments)
    if name in naming.SHAPED_ANNOTATIONS:
        return annotated(arguments[0])
    if name in naming.SEQUENCE_ANNOTATIONS:
        held = annotated(arguments[-1]) if arguments else UNKNOWN
        return domain.sequence(held if held.kind is not Kind.UNKNOWN else None)
    return _named(name)


def _either(alternatives: list[ast.expr]) -> Value:
    values = [annotated(alternative) for alternative in alternatives if not _is_none(alternative)]
    return domain.join_all(values) or UNKNOWN


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
