"""One version of a module, put together from its chunks' outlines: what it defines and who calls whom."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from warplint.source.records import dataclass
from warplint.static.parsing.blocks import CallSite, ClassOutline, FunctionOutline, Import
from warplint.static.parsing.chunks import Placed
from warplint.static.structure.names import Scope, aliases, canonical, module_scope
from warplint.static.structure.roles import ClassRoles
from warplint.static.tables.common_methods import COMMON_METHODS
from warplint.static.tables.libraries import is_library

if TYPE_CHECKING:
    from warplint.static.inference.evidence import Evidence
    from warplint.static.structure.hotness import HotnessMap


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """A call site of a function and the function around it (None at module level)."""

    site: CallSite
    function: FunctionOutline | None


class Index:
    """What a module defines. ``functions`` and ``classes`` are by name; of several the last one counts.

    ``stars`` are the modules of ``from … import *``, each with a dot at its end, the last one first.
    ``class_elsewhere`` tells the role of a class of another file by the name that it is imported under.
    """

    def __init__(
        self, chunks: list[Placed], class_elsewhere: Callable[[str], str | None] = lambda name: None
    ) -> None:
        self.chunks = chunks
        outlines = [placed.chunk.outline for placed in chunks]
        self.scope: Scope = module_scope(outlines)
        self.all_functions = [function for outline in outlines for function in outline.functions]
        self.by_node = {function.node: function for function in self.all_functions}
        self.functions = {
            function.name: function
            for function in self.all_functions
            if function.class_ is None and function.outer is None
        }
        self.classes = {owner.name: owner for outline in outlines for owner in outline.classes}
        self.imports: list[Import] = [item for outline in outlines for item in outline.imports]
        self.aliases = aliases(self.imports)
        self.heat: HotnessMap | None = None
        """How often its parts run, once that was asked."""
        self.evidence: dict[ast.AST, Evidence] = {}
        """What functions say of the names in them, of those that were asked about."""
        self._class_elsewhere = class_elsewhere
        self.class_roles = ClassRoles(self.classes, self.global_name, self._role_elsewhere)
        self.calls: list[CallSite] = [site for outline in outlines for site in outline.calls]
        self._methods: dict[str, list[FunctionOutline]] = {}
        self._nested: dict[tuple[FunctionOutline, str], FunctionOutline] = {}
        self._lineages: dict[ClassOutline, list[ClassOutline]] = {}
        self._derived: dict[ClassOutline, list[ClassOutline]] = {}
        self._targets: dict[CallSite, list[FunctionOutline]] = {}
        self._register()
        self.callers = self._find_callers()

    def moved(self, chunks: list[Placed]) -> Index:
        """The same for the same chunks in other places."""
        moved = copy.copy(self)
        moved.chunks = chunks
        return moved

    def _register(self) -> None:
        for function in self.all_functions:
            if function.class_ is not None:
                self._methods.setdefault(function.name, []).append(function)
            elif function.outer is not None:
                self._nested[function.outer, function.name] = function
        for owner in self.classes.values():
            for base in self.class_roles.bases(owner):
                self._derived.setdefault(base, []).append(owner)

    @cached_property
    def called_names(self) -> frozenset[str]:
        """The last names of all that is called."""
        return frozenset(site.name for site in self.calls)

    @cached_property
    def given_keywords(self) -> frozenset[str | None]:
        """The names of all keyword arguments; None among them is a dictionary that is spread."""
        return frozenset(word.arg for site in self.calls for word in site.node.keywords)

    @cached_property
    def stars(self) -> tuple[str, ...]:
        found = (item for item in self.imports if item.alias == "*" and item.function is None)
        return tuple(item.target.removesuffix("*") for item in reversed(list(found)))

    def _role_elsewhere(self, base: ast.expr) -> str | None:
        """The role of a class that this file only has the name of."""
        return next(filter(None, map(self._class_elsewhere, self.imports_of(base))), None)

    def imports_of(self, node: ast.expr) -> list[str]:
        """What an expression at module level may be imported as: a name that nothing binds, from any star."""
        name = self.global_name(node)
        if name is not None:
            return [] if is_library(name) else [name]
        if not isinstance(node, ast.Name) or node.id in self.scope.bound:
            return []
        return [node.id, *self.starred(node.id)]

    def starred(self, name: str) -> list[str]:
        """What a name may be imported as that nothing binds but ``from … import *``."""
        return [] if name.startswith("_") else [star + name for star in self.stars]

    def global_name(self, node: ast.expr) -> str | None:
        """The qualified name of an expression at module level."""
        if isinstance(node, ast.Attribute):
            base = self.global_name(node.value)
            return canonical(f"{base}.{node.attr}") if base else None
        if isinstance(node, ast.Name):
            target = self.scope.imports.get(node.id)
            return canonical(target) if target else None
        return None

    def method(self, owner: ClassOutline, name: str) -> FunctionOutline | None:
        """The method an instance has, through the bases in this file."""
        return next((found.methods[name] for found in self.lineage(owner) if name in found.methods), None)

    def lineage(self, owner: ClassOutline) -> list[ClassOutline]:
        """The class and its bases in this file, nearest first."""
        found = self._lineages.get(owner)
        if found is None:
            found = self._lineages[owner] = []
            waiting = [owner]
            while waiting:
                current = waiting.pop(0)
                if current not in found:
                    found.append(current)
                    waiting += self.class_roles.bases(current)
        return found

    def owner(self, function: FunctionOutline | None) -> ClassOutline | None:
        """The class whose ``self`` a function sees, nested functions included."""
        while function is not None:
            if function.class_ is not None:
                return function.class_
            function = function.outer
        return None

    def targets(self, site: CallSite) -> list[FunctionOutline]:
        """The functions of this file that a call site may run."""
        targets = self._targets.get(site)
        if targets is None:
            targets = self._targets[site] = self._find_targets(site)
        return targets

    def _find_targets(self, site: CallSite) -> list[FunctionOutline]:
        caller = site.block.function
        if site.base == "":
            return self._plain(site.name, caller)
        if site.base in {"self", "cls"}:
            owner = self.owner(caller)
            return self._own_methods(owner, site.name) if owner else []
        if site.base in self.classes:
            found = self.method(self.classes[site.base], site.name)
            return [found] if found else []
        candidates = self._methods.get(site.name, ())
        if len(candidates) == 1 and site.name not in COMMON_METHODS and site.base not in self.aliases:
            return list(candidates)
        return []

    def _plain(self, name: str, caller: FunctionOutline | None) -> list[FunctionOutline]:
        while caller is not None:
            nested = self._nested.get((caller, name))
            if nested is not None:
                return [nested]
            caller = caller.outer
        if name in self.functions:
            return [self.functions[name]]
        if name in self.classes:
            constructor = self.method(self.classes[name], "__init__")
            return [constructor] if constructor else []
        return []

    def _own_methods(self, owner: ClassOutline, name: str) -> list[FunctionOutline]:
        """The method found through the bases, and those of derived classes that replace it."""
        found = self.method(owner, name)
        replaced = [derived.methods[name] for derived in self._below(owner) if name in derived.methods]
        return [*([found] if found else []), *replaced]

    def _below(self, owner: ClassOutline) -> list[ClassOutline]:
        found: list[ClassOutline] = []
        waiting = list(self._derived.get(owner, ()))
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.append(current)
                waiting += self._derived.get(current, ())
        return found

    def _find_callers(self) -> dict[FunctionOutline, list[Caller]]:
        names: set[str] = {function.name for function in self.all_functions} | self.classes.keys()
        callers: dict[FunctionOutline, list[Caller]] = {}
        for site in self.calls:
            if site.name in names:
                for target in self.targets(site):
                    callers.setdefault(target, []).append(Caller(site, site.block.function))
        return callers
