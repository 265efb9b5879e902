"""What a factory puts into its tensor, and whether that is the same every time."""

from __future__ import annotations

import ast
import enum

from warplint.static.facts import Facts
from warplint.static.values import Kind


class Content(enum.Enum):
    """What the tensor holds: whether ``device=`` alone makes it on the GPU with the same values."""

    EXACT = "exact"
    """The same bits on every device: fills and integer ranges."""
    ROUNDED = "rounded"
    """Computed in floating point: the last bit may differ between devices."""
    RANDOM = "random"
    """Drawn from a generator; each device has its own."""
    NUMBER = "number"
    """One Python number, handed to ``torch.tensor``: ``device=`` still copies it, ``torch.full`` does not."""
    COPIED = "copied"
    """Read from Python objects: ``device=`` still copies them, waiting for the GPU."""
    LEGACY = "legacy"
    """Constructors that take no CUDA device."""


FROM_PYTHON = {Content.COPIED, Content.LEGACY}
"""Kinds whose argument is the content, not the size."""

NAMES = {
    Content.EXACT: "arange empty eye full ones range tril_indices triu_indices zeros",
    Content.ROUNDED: "linspace logspace bartlett_window blackman_window hamming_window hann_window "
    "kaiser_window",
    Content.RANDOM: "rand randint randn randperm",
    Content.COPIED: "tensor",
    Content.LEGACY: "Tensor BoolTensor ByteTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor",
}
FACTORIES = {f"torch.{name}": content for content, names in NAMES.items() for name in names.split()}
RANGES = {"torch.arange", "torch.range"}


def content_of(made: ast.Call, facts: Facts) -> Content:
    """What this call of a factory puts into its tensor."""
    qualified = facts.qualified(made.func) or ""
    content = FACTORIES[qualified]
    if content is Content.COPIED and made.args and facts.value(made.args[0]).kind is Kind.NUMBER:
        return Content.NUMBER
    if qualified in RANGES and any(_is_fraction(node) for node in ast.walk(made)):
        return Content.ROUNDED
    return content


def _is_fraction(node: ast.AST) -> bool:
    return isinstance(node, ast.Div) or (isinstance(node, ast.Constant) and isinstance(node.value, float))


def is_empty(made: ast.Call, content: Content) -> bool:
    """Whether the tensor has no elements: ``torch.empty(0)`` stands for nothing and costs nothing."""
    sizes = made.args[0] if len(made.args) == 1 else None
    if not isinstance(sizes, (ast.List, ast.Tuple)):
        is_size = content not in FROM_PYTHON and content is not Content.NUMBER
        return is_size and isinstance(sizes, ast.Constant) and sizes.value == 0
    if content in FROM_PYTHON:
        return not sizes.elts
    return any(isinstance(size, ast.Constant) and size.value == 0 for size in sizes.elts)


def unchanging(node: ast.expr, facts: Facts) -> bool:
    """Whether a Python value handed to a factory is the same every time: literals and what ``self`` holds."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(unchanging(element, facts) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return unchanging(node.operand, facts)
    if isinstance(node, ast.BinOp):
        return unchanging(node.left, facts) and unchanging(node.right, facts)
    if isinstance(node, ast.Attribute):
        return _root(node) == "self" or unchanging(node.value, facts)
    if isinstance(node, ast.Name):
        origin = facts.value(node).origin
        return origin is not None and not _can_grow(origin, facts) and unchanging(origin, facts)
    return isinstance(node, ast.Constant)


def _can_grow(origin: ast.expr, facts: Facts) -> bool:
    """Whether a name stands for a list of the function, which may be filled on the way."""
    return isinstance(origin, (ast.List, ast.Name)) and facts.function(origin) is not None


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
