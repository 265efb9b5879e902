"""One outermost function, method or module, evaluated as a whole."""

from __future__ import annotations

import ast
from typing import Protocol

from warplint.static.inference.evaluate import Env, World
from warplint.static.inference.evidence import Evidence
from warplint.static.inference.flow import Flow
from warplint.static.inference.questions import Answers
from warplint.static.parsing.blocks import ClassOutline, FunctionOutline
from warplint.static.parsing.tree import FunctionNode


class Surroundings(World, Protocol):
    """What a unit asks for beside values."""

    def evidence_in(self, node: ast.AST) -> Evidence:
        """What a function's body says of the names in it."""

    def parameters(self, function: FunctionOutline, likely: bool) -> Env:
        """What a function's parameters are on entry, from its calls in the file."""

    def outline_of(self, node: FunctionNode) -> FunctionOutline:
        """The outline of a function statement."""


class Unit(Flow):
    """A unit and what its expressions are.

    ``final`` are the names at its end, where it has one, ``asked`` is what it was told of the rest, and
    ``too_deep`` says that some statements are nested deeper than Python's stack: nothing is known of them.
    """

    def __init__(
        self, surroundings: Surroundings, owner: ClassOutline | None, node: ast.AST, likely: bool
    ) -> None:
        super().__init__(surroundings, owner, lambda: surroundings.evidence_in(node), likely)
        self._surroundings = surroundings
        self.is_module = isinstance(node, ast.Module)
        self.final: Env | None = None
        self.asked: Answers = {}
        self.too_deep = False

    def evaluate(self, body: list[ast.stmt], env: Env) -> None:
        """Evaluate the unit's statements, which start with these names."""
        current: Env | None = env
        for statement in body:
            if current is None:
                break
            try:
                current = self.run([statement], current)
            except RecursionError:
                self.too_deep = True
        self.final = current

    def parameters(self, node: FunctionNode) -> Env:
        return self._surroundings.parameters(self._surroundings.outline_of(node), self.likely)


def unit_of(function: FunctionOutline | None) -> FunctionOutline | None:
    """The function whose evaluation covers this one: nested functions run with the one around them."""
    while function is not None and function.class_ is None and function.outer is not None:
        function = function.outer
    return function
