"""Whether a statement ran before the captured steps: what sets a program up is not in them.

Told by the lines that did run in them. What stands before such a line in its block has run; a branch of which
no line ran may as well have been passed by, and so may a function that nothing is known to call. Layers of
the program's own that ran have been made, too.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from warplint.source.statements import BLOCKS
from warplint.static.analyze import Analysis, Site
from warplint.static.parsing.blocks import CallSite, FunctionOutline
from warplint.static.parsing.chunks import Placed
from warplint.static.parsing.tree import FunctionNode

HOLDS = frozenset({"__name__ == '__main__'", "torch.cuda.is_available()"})
"""Tests that were true in any program whose work on a GPU was captured."""

PASSES = (ast.Return, ast.Continue, ast.Break)
"""What ends a branch after which the rest of a block is passed by. After ``raise`` nothing is captured."""


class _Function(NamedTuple):
    first: int
    last: int
    """Lines of the file."""
    outline: FunctionOutline


class Reached:
    """One text, its lines (from 1) that ran in the captured steps, and the classes of layers that did."""

    def __init__(self, analysis: Analysis, ran: Collection[int], layers: Collection[str] = ()) -> None:
        self._index = analysis.index
        self._chunks = analysis.chunks
        self._ran = ran
        self._layers = layers

    def may_have_run(self, site: Site) -> bool:
        """Whether a finding's statement has run, or stands where nothing says that it has not."""
        statement = site.facts.statement(site.node)
        placed = self._chunk(statement)
        if placed is None:
            return False
        return self._has_run(statement, placed, set()) or self._makes_layer(statement)

    def _makes_layer(self, statement: ast.stmt) -> bool:
        """Whether it is the file's only one to make a layer of a class that ran."""
        if any(hasattr(statement, block) for block in BLOCKS):
            return False
        return not self._lone_makers.isdisjoint(ast.walk(statement))

    @cached_property
    def _lone_makers(self) -> frozenset[ast.AST]:
        """The calls that are the file's only ones to make a layer of their class."""
        calls = self._index.calls if self._index is not None else ()
        made = [site for site in calls if site.name in self._layers and not site.handed_over]
        names = Counter(site.name for site in made)
        return frozenset(site.node for site in made if names[site.name] == 1)

    def _has_run(self, statement: ast.stmt, placed: Placed, asked: set[FunctionOutline]) -> bool:
        """``asked`` are the functions looked into for one question: any way to any of them answers it."""
        above, parents = placed.line - 1, placed.chunk.parents
        line = statement.lineno + above
        if self._ran_between(line - 1, line):
            return True
        node: ast.AST = statement
        while not isinstance(parent := parents.get(node), ast.Module | None):
            body = _body_around(node, parent)
            if body and self._ran_between(line, (body[-1].end_lineno or 0) + above):
                return True
            if body and (_is_branch(body, parent) or _may_be_passed_by(node, body)):
                return False
            if isinstance(parent, FunctionNode):
                return self._has_called(parent, asked)
            node = parent
        # Functions that stand below a statement of the module and ran were defined after it.
        return not self._by_function[None] or self._lines[-1] > line

    def _ran_between(self, line: int, last: int) -> bool:
        """Whether a line after the one ran, up to the other."""
        after = bisect_right(self._lines, line)
        return after < len(self._lines) and self._lines[after] <= last

    def _has_called(self, node: FunctionNode, asked: set[FunctionOutline]) -> bool:
        """Whether a function of which no later line ran may have been run to its end."""
        function = self._index.by_node.get(node) if self._index is not None else None
        if self._index is None or function is None or function in asked or self._by_function[function]:
            return False
        if function.class_ is not None and self._ran_in(function.class_.node):
            return True
        asked.add(function)
        callers = self._index.callers.get(function, ())
        return any(self._has_made(caller.site, asked) for caller in callers)

    def _has_made(self, site: CallSite, asked: set[FunctionOutline]) -> bool:
        placed = self._chunk(site.node)
        return placed is not None and self._has_run(_statement(site.node, placed), placed, asked)

    def _ran_in(self, node: ast.ClassDef) -> bool:
        placed = self._chunk(node)
        if placed is None:
            return False
        above = placed.line - 1
        return self._ran_between(node.lineno + above, (node.end_lineno or 0) + above)

    @cached_property
    def _by_function(self) -> defaultdict[FunctionOutline | None, set[int]]:
        """The lines that ran by the innermost function around them, None at module level.

        The only call of a function that ran has run too: the program is in it, and has not come back yet.
        """
        found: defaultdict[FunctionOutline | None, set[int]] = defaultdict(set)
        for line, function in self._with_functions(sorted(self._ran)):
            found[function].add(line)
        waiting = [function for function in found if function is not None]
        while waiting and self._index is not None:
            callers = self._index.callers.get(waiting.pop(), ())
            if len(callers) != 1:
                continue
            (caller,) = callers
            placed = self._chunk(caller.site.node)
            if placed is None:
                continue
            if caller.function is not None and not found[caller.function]:
                waiting.append(caller.function)
            found[caller.function].add(caller.site.node.lineno + placed.line - 1)
        return found

    @cached_property
    def _lines(self) -> list[int]:
        return sorted(set().union(*self._by_function.values()))

    def _with_functions(self, lines: Sequence[int]) -> Iterator[tuple[int, FunctionOutline | None]]:
        """Each of the lines, which ascend, with the innermost function around it."""
        waiting = self._functions()
        around: list[_Function] = []
        for line in lines:
            while waiting and waiting[-1].first <= line:
                function = waiting.pop()
                _leave(around, function.first)
                around.append(function)
            _leave(around, line)
            yield line, around[-1].outline if around else None

    def _functions(self) -> list[_Function]:
        """From the last to the first; one that stands in another before it."""
        found = [
            _Function(
                outline.node.lineno + placed.line - 1,
                (outline.node.end_lineno or 0) + placed.line - 1,
                outline,
            )
            for placed in self._readable
            for outline in placed.chunk.outline.functions
        ]
        return sorted(found, key=lambda each: (each.first, -each.last), reverse=True)

    @cached_property
    def _readable(self) -> list[Placed]:
        return [placed for placed in self._chunks if placed.chunk.fault is None]

    def _chunk(self, node: ast.AST) -> Placed | None:
        return next((placed for placed in self._readable if node in placed.chunk.parents), None)


def _leave(around: list[_Function], line: int) -> None:
    """Drop the innermost functions that end before a line."""
    while around and around[-1].last < line:
        around.pop()


def _body_around(node: ast.AST, parent: ast.AST) -> list[ast.stmt]:
    """The statements among which one stands; none for clauses, which are no statements."""
    bodies: list[list[ast.stmt]] = [getattr(parent, block, []) for block in BLOCKS]
    return next((body for body in bodies if node in body and isinstance(node, ast.stmt)), [])


def _is_branch(body: list[ast.stmt], parent: ast.AST) -> bool:
    """Whether statements run only now and then of those times that what is around them does."""
    if isinstance(parent, ast.If):
        return body is not parent.body or ast.unparse(parent.test) not in HOLDS
    return isinstance(parent, ast.ExceptHandler | ast.match_case)


def _may_be_passed_by(node: ast.AST, body: list[ast.stmt]) -> bool:
    """Whether a branch before a statement leaves the block."""
    before = body[: body.index(node)] if isinstance(node, ast.stmt) else []
    return any(isinstance(each, ast.If) and isinstance(each.body[-1], PASSES) for each in before)


def _statement(node: ast.AST, placed: Placed) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = placed.chunk.parents[node]
    return node
