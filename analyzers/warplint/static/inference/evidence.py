"""What a function does with a name shows that it is a tensor, where nothing else does."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from warplint.source.records import dataclass
from warplint.static.parsing.tree import PARTS, Parts
from warplint.static.tables import naming, torch_functions
from warplint.static.tables.torch_methods import (
    METADATA,
    MOVES,
    NUMBERS,
    READS,
    SAME_DEVICE,
    SIZES,
    TENSOR_ONLY,
    VIEWS,
)

# A name that is made a tensor by one of these was none before.
_CONVERSIONS = frozenset(
    {"tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor", "Tensor", "asarray"}
)
_WEAK = frozenset({"item", "mean", "sum", "tolist"})
_MOVING = frozenset({"cuda", "to"})
_NAMESPACES = frozenset({"torch", "F"})
_TAKES_LOSS = frozenset({"backward", "manual_backward", "scale"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the names of a function are, by what is done with them.

    ``strong`` are surely tensors, ``weak`` are if what they come from worked on tensors, ``holders`` hold
    tensors under text keys, and ``against`` are used as no tensor is. ``whole`` are moved as one and never
    taken apart, as batches are that are one tensor. ``unpacked`` are taken apart into names, and no tensors
    by anything else. ``counted`` are the names and text keys under which a literal number is put.
    """

    strong: frozenset[str]
    weak: frozenset[str]
    holders: frozenset[str]
    against: frozenset[str]
    whole: frozenset[str]
    unpacked: frozenset[str]
    counted: frozenset[tuple[str, str]]


def evidence(root: ast.AST) -> Evidence:
    """Collect the evidence of a function, of everything below a node."""
    collector = _Collector()
    nodes: list[Any] = [root]
    for node in nodes:
        note, parts = _LOOK[type(node)]
        if note is not None:
            note(collector, node)
        if parts is not None:
            for value in parts(node):
                if type(value) is list:
                    nodes += value
                elif value is not None and type(value) is not ast.Name:
                    nodes.append(value)
    return collector.result()


class _Collector:
    def __init__(self) -> None:
        self._strong: set[str] = set()
        self._weak: set[str] = set()
        self._holders: set[str] = set()
        self._against: set[str] = set()
        self._converted: set[str] = set()
        self._moved: set[str] = set()
        self._apart: set[str] = set()
        self._unpacked: set[str] = set()
        self._counted: set[tuple[str, str]] = set()

    def result(self) -> Evidence:
        figures = {name for name in self._weak if naming.FIGURE.fullmatch(name)}
        strong = (self._strong | figures) - self._converted
        return Evidence(
            frozenset(strong),
            frozenset(self._weak - self._converted),
            frozenset(self._holders - strong),
            frozenset(self._against - strong),
            frozenset((self._moved | strong) - self._apart - self._against),
            frozenset(self._unpacked - strong - self._moved),
            frozenset(self._counted),
        )

    def attribute(self, node: ast.Attribute) -> None:
        if type(node.value) is ast.Name:
            name = node.value.id
            if node.attr in TENSOR_ONLY:
                self._strong.add(name)
            elif node.attr in _WEAK:
                self._weak.add(name)
            elif node.attr in _MOVING:
                self._moved.add(name)
            elif node.attr not in _KNOWN:
                self._against.add(name)
        elif type(node.value) is ast.Subscript and _has_text_key(node.value):
            holder = node.value.value
            if isinstance(holder, ast.Name) and _shows_tensor(node.attr, holder.id):
                self._holders.add(holder.id)

    def call(self, node: ast.Call) -> None:
        names = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
        if isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in _CONVERSIONS:
                self._converted.update(names)
            elif method in torch_functions.TAKES_TENSOR:
                if isinstance(node.func.value, ast.Name) and node.func.value.id in _NAMESPACES:
                    self._strong.update(_first(node))
            elif method in _TAKES_LOSS:
                # ``loss.backward()`` or ``accelerator.backward(loss)``.
                self._strong.update(names or _receiver(node.func))
            elif method == "size":
                self._strong.update(_receiver(node.func))
        elif isinstance(node.func, ast.Name) and node.func.id == "range":
            self._against.update(names)
        for keyword in node.keywords:
            if keyword.arg is None and isinstance(keyword.value, ast.Name):
                self._apart.add(keyword.value.id)

    def subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Name):
            if _has_text_key(node):
                self._against.add(node.value.id)
            if isinstance(node.slice, ast.Constant):
                self._apart.add(node.value.id)

    def assignment(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Tuple | ast.List):
            self._apart.add(node.value.id)
            self._unpacked.add(node.value.id)
        elif isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    self._counted.update((target.value.id, key) for key in _text_key(target))

    def starred(self, node: ast.Starred) -> None:
        if isinstance(node.value, ast.Name):
            self._apart.add(node.value.id)

    def boolean(self, node: ast.BoolOp) -> None:
        """``prompt or ""``: what a text stands in for is a text itself."""
        last = node.values[-1]
        if isinstance(node.op, ast.Or) and isinstance(last, ast.Constant) and isinstance(last.value, str):
            self._against.update(part.id for part in node.values if isinstance(part, ast.Name))

    def loop(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> None:
        if isinstance(node.iter, ast.Name):
            self._against.add(node.iter.id)

    def test(self, node: ast.If | ast.While | ast.IfExp) -> None:
        stack = [node.test]
        while stack:
            part = stack.pop()
            if isinstance(part, ast.Name):
                self._against.add(part.id)
            elif isinstance(part, ast.BoolOp):
                stack.extend(part.values)
            elif isinstance(part, ast.UnaryOp):
                stack.append(part.operand)
            elif isinstance(part, ast.Compare) and not isinstance(part.ops[0], ast.Is | ast.IsNot):
                stack.append(part.left)


def _first(call: ast.Call) -> list[str]:
    return [call.args[0].id] if call.args and isinstance(call.args[0], ast.Name) else []


def _text_key(node: ast.Subscript) -> list[str]:
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return [key] if isinstance(key, str) else []


def _has_text_key(node: ast.Subscript) -> bool:
    return bool(_text_key(node))


def _shows_tensor(attribute: str, holder: str) -> bool:
    """Whether an attribute of what a name holds shows a tensor; for losses less is needed."""
    return attribute in TENSOR_ONLY or (attribute in _WEAK and naming.LOSS.fullmatch(holder) is not None)


def _receiver(function: ast.Attribute) -> list[str]:
    return [function.value.id] if isinstance(function.value, ast.Name) and function.attr != "scale" else []


_KNOWN = METADATA | VIEWS | SAME_DEVICE | MOVES | NUMBERS | SIZES | READS.keys()
"""Attributes that speak for nothing: tensors have them, and arrays or modules too."""

_NOTE: dict[type[object], Callable[..., None]] = {
    ast.Attribute: _Collector.attribute,
    ast.Call: _Collector.call,
    ast.Subscript: _Collector.subscript,
    ast.For: _Collector.loop,
    ast.AsyncFor: _Collector.loop,
    ast.comprehension: _Collector.loop,
    ast.If: _Collector.test,
    ast.While: _Collector.test,
    ast.IfExp: _Collector.test,
    ast.Assign: _Collector.assignment,
    ast.Starred: _Collector.starred,
    ast.BoolOp: _Collector.boolean,
}


class _Look(dict[type[object], "tuple[Callable[..., None] | None, Parts | None]"]):
    """What is done about a node of each class: how it is noted, and what is below it."""

    def __missing__(self, kind: type[object]) -> tuple[Callable[..., None] | None, Parts | None]:
        self[kind] = made = _NOTE.get(kind), PARTS[kind]
        return made


_LOOK = _Look()
