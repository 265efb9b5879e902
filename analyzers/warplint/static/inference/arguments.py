"""The arguments of one call, evaluated."""

from __future__ import annotations

import ast

from warplint.static.values import Kind, Value


def is_off(argument: ast.expr | None) -> bool:
    """Whether an argument is there and literally ``0``, ``False``, ``None`` or empty."""
    return isinstance(argument, ast.Constant) and not argument.value


class Given:
    """What a call is handed. ``values`` is where the evaluator has put the arguments' values."""

    __slots__ = ("_tensors", "named", "node", "positional")

    def __init__(self, node: ast.Call, values: dict[ast.AST, Value]) -> None:
        self.node = node
        self.positional = [values[argument] for argument in node.args]
        self.named: dict[str, Value] = (
            {word.arg: values[word.value] for word in node.keywords if word.arg is not None}
            if node.keywords
            else {}
        )
        self._tensors: list[Value] | None = None

    @property
    def all(self) -> list[Value]:
        return [*self.positional, *self.named.values()]

    @property
    def first(self) -> Value | None:
        return self.positional[0] if self.positional else None

    @property
    def tensors(self) -> list[Value]:
        """The tensors among the arguments, those in sequences included."""
        if self._tensors is None:
            self._tensors = [tensor for value in self.all for tensor in tensors_in(value)]
        return self._tensors

    def keyword(self, name: str) -> tuple[ast.expr, Value] | None:
        """A named argument and its value."""
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return keyword.value, self.named[name]
        return None

    @property
    def has_unpacking(self) -> bool:
        """Whether ``**more`` may hand over what is not written out."""
        return any(keyword.arg is None for keyword in self.node.keywords)


def tensors_in(value: Value) -> list[Value]:
    """A tensor itself, or the tensors that a sequence holds."""
    if value.kind is Kind.TENSOR:
        return [value]
    if value.kind is Kind.SEQUENCE:
        held = value.elements or (value.element,)
        return [part for part in held if part is not None and part.kind is Kind.TENSOR]
    return []
