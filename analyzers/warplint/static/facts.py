"""What a rule may ask about a place in a module: the engine's answers, by ast node."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable
from pathlib import Path

from warplint.source.records import dataclass
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static import domain
from warplint.static.finding import Hotness
from warplint.static.inference.knowledge import Knowledge
from warplint.static.inference.unit import Unit
from warplint.static.inference.use import Use, UseKind
from warplint.static.inference.uses import Uses
from warplint.static.parsing.blocks import Block, FunctionOutline
from warplint.static.parsing.chunks import Placed
from warplint.static.parsing.tree import FunctionNode
from warplint.static.role import Role
from warplint.static.structure.names import (
    Comprehension,
    Scope,
    canonical,
    comprehension_binds,
    function_scope,
)
from warplint.static.torch_version import NEWEST, TorchVersion
from warplint.static.values import UNKNOWN, Kind, Value

_PLACES_IN_FSTRINGS = sys.version_info >= (3, 12)


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """The function around a node. ``class_role`` is ``module``, ``dataset``, … or None."""

    name: str
    role: Role
    class_name: str | None
    class_role: str | None
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Facts:
    """Everything known about one version of a module, asked by ast node (nodes of its own trees only).

    The line numbers on nodes count within their chunk; ``span`` gives the place in the whole text. ``path``
    is the file's, from the project's root where that is known, and ``torch`` what the program runs with.
    """

    def __init__(
        self,
        source: SourceText,
        knowledge: Knowledge,
        path: Path | None = None,
        torch: TorchVersion = NEWEST,
    ) -> None:
        self.path = source.path if path is None else path
        self.torch = torch
        self._source = source
        self._knowledge = knowledge
        self._home: Placed = knowledge.index.chunks[0]
        self._site_block: Block | None = None
        self._scopes: dict[ast.AST, Scope] = {}
        chunks = knowledge.index.chunks
        self._local_names = frozenset[str]().union(*(placed.chunk.outline.local_names for placed in chunks))

    def value(self, node: ast.expr) -> Value:
        """What the expression is at that place. Raises RecursionError where that is nested too deeply."""
        unit = self._unit(node)
        if unit is None:
            return UNKNOWN
        if unit.too_deep and node not in unit.values:
            raise RecursionError("the statement is nested too deeply")
        value = unit.values.get(node, UNKNOWN)
        if value.origin is None:
            sources = unit.sources.get(node, ())
            if len(sources) == 1:
                return value.with_(origin=unit.values.get(sources[0], UNKNOWN).origin or sources[0])
        return value

    def uses(self, node: ast.expr) -> tuple[Use, ...]:
        """Where the expression's value goes within its function, through names and tuple unpacking.

        What is computed from the value alone (``x.view(3)``, ``x + 1``) is a use of kind OTHER whose ``node``
        is the result; ask again for the uses of that. Reading metadata (``x.shape``) is no use.
        """
        unit = self._unit(node)
        return () if unit is None else Uses(unit, self.parent).of(node)

    def sources(self, node: ast.expr) -> tuple[ast.expr, ...]:
        """The expressions, in the function around it, that a name or attribute may have been bound to last.

        A name that is added to (``x += y``) is bound to itself there: that target has sources of its own.
        """
        unit = self._unit(node)
        return () if unit is None else unit.sources.get(node, ())

    def _unit(self, node: ast.AST) -> Unit | None:
        unit = self._unit_of_site()
        if unit is None or node not in unit.values:
            unit = self._knowledge.unit(self._function(node))
        if unit is not None:
            self._knowledge.told(unit.asked)
        return unit

    def _unit_of_site(self) -> Unit | None:
        """The unit around the current site, which is found without linking the chunk's nodes."""
        return None if self._site_block is None else self._knowledge.unit(self._site_block.function)

    def qualified(self, node: ast.expr) -> str | None:
        """``torch.arange`` for ``t.arange`` after ``import torch as t``; None when not from an import."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._knowledge.index.aliases:
            return None
        target = self._target(node)
        return None if target is None else canonical(".".join([target, *reversed(parts)]))

    def is_builtin(self, node: ast.Name) -> bool:
        """Whether a name is Python's own, bound by nothing around it."""
        if not hasattr(builtins, node.id) or self._knowledge.binds(node.id):
            return False
        return not any(node.id in self._scope(around).bound for around in self._scoped(node))

    def _target(self, node: ast.Name) -> str | None:
        for around in self._scoped(node):
            scope = self._scope(around)
            if node.id in scope.bound:
                return scope.imports.get(node.id)
        return self._knowledge.alias(node.id)

    def _scoped(self, node: ast.Name) -> list[ast.AST]:
        """The functions whose scope a name sees, innermost first; comprehensions that bind it too."""
        found: list[ast.AST] = []
        if node.id not in self._local_names:
            return found
        below: ast.AST = node
        current = self.parent(node)
        while current is not None:
            # Defaults, decorators and annotations of a function do not see its names.
            if isinstance(current, FunctionNode):
                sees = isinstance(below, ast.stmt)
            elif isinstance(current, ast.Lambda):
                sees = below is current.body
            else:
                sees = isinstance(current, Comprehension) and comprehension_binds(current, node.id)
            if sees:
                found.append(current)
            below, current = current, self.parent(current)
        return found

    def _scope(self, around: ast.AST) -> Scope:
        scope = self._scopes.get(around)
        if scope is None:
            if isinstance(around, FunctionNode | ast.Lambda):
                scope = function_scope(around)
            else:
                names = (name.id for name in ast.walk(around) if isinstance(name, ast.Name))
                scope = Scope(frozenset(names), {})
            self._scopes[around] = scope
        return scope

    def class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """The class statement that the expression's value is an instance of; it may be another file's.

        None for the class itself, and for classes of libraries.
        """
        value = self.value(node)
        if value.qualified is None or value.constant == domain.CLASS:
            return None
        return self._knowledge.class_node(value.qualified)

    def called_function(self, call: ast.Call) -> FunctionNode | None:
        """The statement of the project's function that a call runs; its nodes may be another file's."""
        called = self.value(call.func)
        if called.kind is not Kind.CALLABLE or called.qualified is None:
            return None
        return self._knowledge.function_node(called.qualified)

    def hotness(self, node: ast.AST) -> Hotness:
        """How often the place runs, through callers in the same file."""
        return self._knowledge.block_heat(self._block(node)).hotness

    def why_hot(self, node: ast.AST) -> str:
        """A phrase for messages: ``in Net.forward``, ``in the training loop``."""
        return self._knowledge.block_heat(self._block(node)).why

    def _block(self, node: ast.AST) -> Block:
        """The block a node runs in: a ``while`` asks its test in each round."""
        block = self._home.chunk.outline.blocks.get(node)
        if block is not None:
            return block
        outline = self._chunk(node).chunk.outline
        current: ast.AST | None = node
        below = node
        while current is not None:
            if isinstance(current, ast.While) and below is current.test:
                return outline.rounds[current]
            block = outline.blocks.get(current)
            if block is not None:
                return block
            below, current = current, self.parent(current)
        return outline.top

    def function(self, node: ast.AST) -> FunctionFacts | None:
        """The innermost function around the node; None at module level."""
        outline = self._function(node)
        if outline is None:
            return None
        owner = self._knowledge.index.owner(outline)
        around = self._lambda_around(node)
        return FunctionFacts(
            outline.name if around is None else "<lambda>",
            self._knowledge.role(outline),
            owner.name if owner is not None else None,
            self._knowledge.class_role(owner) if owner is not None else None,
            outline.node if around is None else around,
        )

    def _lambda_around(self, node: ast.AST) -> ast.Lambda | None:
        """The lambda that a node is in, if that is the innermost function around it."""
        if not self._chunk(node).chunk.outline.has_lambda:
            return None
        current = self.parent(node)
        while current is not None and not isinstance(current, FunctionNode | ast.Lambda):
            current = self.parent(current)
        return current if isinstance(current, ast.Lambda) else None

    def _function(self, node: ast.AST) -> FunctionOutline | None:
        return self._block(node).function

    def calls_of(self, node: ast.AST) -> tuple[ast.Call, ...]:
        """The calls in this file that run the innermost function around a node, if all are by name."""
        outline = self._function(node)
        return () if outline is None else self._knowledge.calls_of(outline)

    def is_called(self, name: str) -> bool:
        """Whether the file calls something of this last name anywhere, as it does to switch a mode."""
        return self._knowledge.is_called(name)

    def calls_any(self, names: Iterable[str]) -> bool:
        """Whether the file calls something of one of these last names anywhere.

        Another call of one of them leaves the answer as it is, which one asked name by name would not be.
        """
        return self._knowledge.calls_any(frozenset(names))

    def is_given(self, keyword: str) -> bool:
        """Whether some call in the file is handed a keyword argument of this name."""
        return self._knowledge.is_given(keyword)

    def makes_what_it_trains(self) -> bool:
        """Whether the file makes all models whose parameters it asks for, of its own classes or PyTorch's."""
        return self._knowledge.makes_what_it_trains()

    def mentions(self, pattern: str) -> bool:
        """Whether a regular expression is found anywhere in the file's text, its comments included.

        It is for what makes a rule silent: what a file as much as names is its author's own affair.
        """
        return self._knowledge.mentions(pattern)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node; None for a top-level statement."""
        parent = self._chunk(node).chunk.parents.get(node)
        return None if isinstance(parent, ast.Module) else parent

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around the node."""
        current: ast.AST | None = node
        while not isinstance(current, ast.stmt):
            assert current is not None, "every expression stands in a statement"
            current = self.parent(current)
        return current

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """The node's range in the whole file's text.

        Inside an f-string it is that of the string where the parser (before Python 3.12) gives wrong places.
        """
        if not _PLACES_IN_FSTRINGS:
            node = self._fstring_around(node) or node
        above = self._chunk(node).line - 1
        assert node.end_lineno is not None and node.end_col_offset is not None, "parsing sets end positions"
        return Span(
            self._source.offset(node.lineno + above, node.col_offset),
            self._source.offset(node.end_lineno + above, node.end_col_offset),
        )

    def _fstring_around(self, node: ast.AST) -> ast.JoinedStr | None:
        """The outermost f-string around a node: older parsers put what is inside it in the wrong place."""
        found = None
        current = self.parent(node)
        while isinstance(current, ast.expr | ast.keyword | ast.comprehension):
            if isinstance(current, ast.JoinedStr):
                found = current
            current = self.parent(current)
        return found

    def begin(self, placed: Placed, site: ast.AST) -> None:
        """Say which site of which chunk the next questions are about: most of them stay around it."""
        self._home = placed
        self._site_block = placed.chunk.outline.blocks.get(site)

    def _chunk(self, node: ast.AST) -> Placed:
        """The chunk a node belongs to: mostly that of the last question."""
        if node in self._home.chunk.outline.blocks or node in self._home.chunk.parents:
            return self._home
        for placed in self._knowledge.index.chunks:
            if node in placed.chunk.parents:
                self._home = placed
                return placed
        raise ValueError("the node belongs to another module or version")


__all__ = ["Facts", "FunctionFacts", "Role", "Use", "UseKind"]
