"""What a function does with a name shows that it is a tensor, where nothing else does."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from warplint.static.tables import naming
from warplint.static.tables.torch_methods import TENSOR_ONLY
from warplint.static.tree import children

# A name that is made a tensor by one of these was none before.
_CONVERSIONS = frozenset(
    {"tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor", "Tensor", "asarray"}
)
_WEAK = frozenset({"item", "mean", "sum", "tolist"})
_TAKES_LOSS = frozenset({"backward", "manual_backward", "scale"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Names that are surely tensors, and names that are if what they come from worked on tensors."""

    strong: frozenset[str]
    weak: frozenset[str]


def evidence(root: ast.AST) -> Evidence:
    """Collect the evidence of a function, of everything below a node."""
    strong: set[str] = set()
    weak: set[str] = set()
    converted: set[str] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if type(node) is ast.Attribute:
            if type(node.value) is ast.Name:
                if node.attr in TENSOR_ONLY:
                    strong.add(node.value.id)
                elif node.attr in _WEAK:
                    weak.add(node.value.id)
        elif type(node) is ast.Call and type(node.func) is ast.Attribute:
            names = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
            if node.func.attr in _CONVERSIONS:
                converted.update(names)
            elif node.func.attr in _TAKES_LOSS:
                # ``loss.backward()`` or ``accelerator.backward(loss)``.
                strong.update(names or _receiver(node.func))
            elif node.func.attr == "size":
                strong.update(_receiver(node.func))
        stack.extend(children(node))
    losses = {name for name in weak if naming.LOSS.fullmatch(name)}
    return Evidence(frozenset(strong | losses) - converted, frozenset(weak) - converted)


def _receiver(function: ast.Attribute) -> list[str]:
    return [function.value.id] if isinstance(function.value, ast.Name) and function.attr != "scale" else []
