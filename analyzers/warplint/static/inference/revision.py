"""What an edit changed of a module: which facts about the rest of it may no longer be so."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from warplint.static import domain
from warplint.static.inference.questions import Question
from warplint.static.parsing.blocks import Block, ClassOutline, FunctionOutline
from warplint.static.parsing.chunks import Chunk, Placed
from warplint.static.parsing.outline import Outline
from warplint.static.structure.index import Index
from warplint.static.structure.names import Scope


class Revision:
    """Two versions of a module, of which the second is the first after an edit.

    ``gone`` are the chunks that only the first has, ``come`` those that only the second has. ``sees_same``
    says that the project's other files are the same to both.
    """

    def __init__(self, before: Index, now: Index, sees_same: bool = True) -> None:
        self.before = before
        self.now = now
        self._sees_same = sees_same
        old = {placed.chunk: None for placed in before.chunks}
        new = {placed.chunk: None for placed in now.chunks}
        self.gone = [chunk for chunk in old if chunk not in new]
        self.come = [chunk for chunk in new if chunk not in old]
        self._is_in_order = [chunk for chunk in old if chunk in new] == [
            chunk for chunk in new if chunk in old
        ]

    @property
    def is_unread(self) -> bool:
        """Whether all that differs is what does not parse: nothing is known of that but its text."""
        return self.before.classes is self.now.classes

    @cached_property
    def is_small(self) -> bool:
        """Whether what stayed may be told apart from what did not: it stands as it stood, and imports too."""
        old, new = self.before.scope, self.now.scope
        is_alike = old.imports == new.imports and self.before.stars == self.now.stars
        return self._sees_same and self._is_in_order and is_alike

    @cached_property
    def gone_parts(self) -> frozenset[object]:
        """All that questions about gone chunks can be about."""
        return frozenset[object]().union(*(chunk.outline.parts for chunk in self.gone))

    def renames_in(self, chunk: Chunk) -> bool:
        """Whether a name in a chunk is that of an import, anywhere in the module, that was another before.

        Which calls rules are asked about goes by those names.
        """
        return self._renamed is not None and self._renamed.search(chunk.text) is not None

    @cached_property
    def _renamed(self) -> re.Pattern[str] | None:
        names = _differing(self.before.aliases, self.now.aliases)
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b") if names else None

    @cached_property
    def names(self) -> frozenset[str]:
        """The names at module level that stand for something else, and classes that derive from such."""
        old, new = self.before, self.now
        found = {
            *_differing(old.functions, new.functions),
            *_differing(old.classes, new.classes),
            *(old.scope.bound ^ new.scope.bound),
            *(name for chunk in (*self.gone, *self.come) for name in _defined(chunk)),
        }
        classes = [owner for placed in new.chunks for owner in placed.chunk.outline.classes]
        while True:
            derived = {owner.name for owner in classes if not found.isdisjoint(_base_names(owner))}
            if derived <= found:
                return frozenset(found)
            found |= derived

    def touches(self, qualified: str) -> bool:
        """Whether something with a qualified name in this file may be another than before."""
        name = qualified.removeprefix(domain.THIS_FILE)
        while name:
            if name in self.names:
                return True
            name = name.rpartition(".")[0]
        return False

    @cached_property
    def _calls(self) -> tuple[frozenset[FunctionOutline], frozenset[FunctionOutline]]:
        old, new = self.before.callers, self.now.callers
        called: set[FunctionOutline] = set()
        calling: set[FunctionOutline] = set()
        for target in old.keys() | new.keys():
            before = [caller.site for caller in old.get(target, ())]
            now = [caller.site for caller in new.get(target, ())]
            if before != now:
                called.add(target)
                functions = (site.block.function for site in {*before} ^ {*now})
                calling.update(function for function in functions if function is not None)
        return frozenset(called), frozenset(calling)

    @property
    def called_anew(self) -> frozenset[FunctionOutline]:
        """The functions that other calls run than before."""
        return self._calls[0]

    @cached_property
    def doing_anew(self) -> frozenset[FunctionOutline]:
        """The functions of which something may do something else than before that they run."""
        found = {function for chunk in self.come for function in chunk.outline.functions}
        found |= self._calls[1]
        waiting = list(found)
        while waiting:
            for caller in self.now.callers.get(waiting.pop(), ()):
                if caller.function is not None and caller.function not in found:
                    found.add(caller.function)
                    waiting.append(caller.function)
        return frozenset(found)

    @cached_property
    def seen_anew(self) -> frozenset[FunctionOutline]:
        """The functions that may be for something else than before."""
        found = set(self.doing_anew | self.called_anew)
        for function in self.now.all_functions:
            owner = self.now.owner(function)
            if (owner is not None and owner.name in self.names) or function.outer in found:
                found.add(function)
        return frozenset(found)

    def doubtful(self, facts: Iterable[Question]) -> list[Question]:
        """Those of the first version's facts that may be answered otherwise in the second, or that are about
        what is gone."""
        if self.is_unread:
            return [
                question
                for question in facts
                if question[0] == "mentions" and _mentions_may_change(self, *question[1])
            ]
        if not self.is_small:
            return list(facts)
        gone, checks = self.gone_parts, _MAY_CHANGE
        found = []
        for question in facts:
            kind, arguments = question
            may_change = checks.get(kind)
            if may_change is None or not gone.isdisjoint(arguments) or may_change(self, *arguments):
                found.append(question)
        return found

    @property
    def outlines(self) -> Iterator[Outline]:
        """Those of all that is gone or has come."""
        return (chunk.outline for chunk in (*self.gone, *self.come))


def read_same(before: Sequence[Placed], now: Sequence[Placed]) -> bool:
    """Whether what parses of two versions are the same chunks in the same order."""
    old = [placed.chunk for placed in before if placed.chunk.fault is None]
    return old == [placed.chunk for placed in now if placed.chunk.fault is None]


def _differing(old: Any, new: Any) -> set[str]:
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def _defined(chunk: Chunk) -> set[str]:
    outline = chunk.outline
    return {owner.name for owner in outline.classes} | outline.globals.keys()


def _base_names(owner: ClassOutline) -> set[str]:
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in owner.node.bases)
    return {base.id for base in bases if isinstance(base, ast.Name)}


def _heat_may_change(revision: Revision, block: Block) -> bool:
    heat = revision.now.heat
    return heat is None or block.function is None or block.function in heat.changed


def _role_may_change(revision: Revision, function: FunctionOutline) -> bool:
    heat = revision.now.heat
    return heat is None or function in heat.changed


def _global_may_change(revision: Revision, name: str) -> bool:
    """What a variable holds follows from all of the module's statements; anything else from its own."""
    now, scope = revision.now, revision.now.scope
    is_variable = name in scope.bound and not _is_defined(name, now, scope)
    return is_variable or name in revision.names


def _is_defined(name: str, index: Index, scope: Scope) -> bool:
    return name in scope.imports or name in index.functions or name in index.classes


def _is_called_may_change(revision: Revision, name: str) -> bool:
    return any(site.name == name for outline in revision.outlines for site in outline.calls)


def _calls_any_may_change(revision: Revision, names: frozenset[str]) -> bool:
    return any(site.name in names for outline in revision.outlines for site in outline.calls)


def _is_given_may_change(revision: Revision, keyword: str) -> bool:
    return any(
        word.arg == keyword
        for outline in revision.outlines
        for site in outline.calls
        for word in site.node.keywords
    )


def _is_computed_may_change(revision: Revision, attribute: str) -> bool:
    return any(attribute in owner.computed for outline in revision.outlines for owner in outline.classes)


def _mentions_may_change(revision: Revision, pattern: Any) -> bool:
    return any(chunk.mentions(pattern) for chunk in (*revision.gone, *revision.come))


def _same(revision: Revision, *arguments: object) -> bool:
    return False


_MAY_CHANGE: dict[str, Callable[..., bool]] = {
    "role": _role_may_change,
    "block_heat": _heat_may_change,
    "calls_of": lambda revision, function: function in revision.called_anew,
    "_callers": lambda revision, function: function in revision.called_anew,
    "class_role": lambda revision, owner: owner.name in revision.names,
    "class_node": Revision.touches,
    "instance": Revision.touches,
    "global_value": _global_may_change,
    "alias": _same,
    "binds": lambda revision, name: name in revision.names,
    "_function": Revision.touches,
    "_lineage": Revision.touches,
    "_bases_elsewhere": Revision.touches,
    "is_called": _is_called_may_change,
    "calls_any": _calls_any_may_change,
    "is_given": _is_given_may_change,
    "is_computed": _is_computed_may_change,
    "mentions": _mentions_may_change,
    "_imported": _same,
    "_member_elsewhere": _same,
    "_function_elsewhere": _same,
    "_attribute_elsewhere": _same,
    "_returned_elsewhere": _same,
    "_class_role_elsewhere": _same,
}
"""For questions about one name or part, whether an edit may have changed the answer; others are asked again.
"""
