"""From what rules want, as data, to the sites they are asked about: one pass over each chunk's outline."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from warplint.static.inference.truth import may_be_tensor, may_index
from warplint.static.parsing.outline import Outline
from warplint.static.rules.rule_index import AnyRule

Named = Callable[[ast.expr], str | None]


class Nominator:
    """The wishes of all rules in tables keyed by name."""

    def __init__(self, rules: Sequence[AnyRule]) -> None:
        self._calls: dict[str, list[AnyRule]] = defaultdict(list)
        self._last_names: set[str] = set()
        self._methods: dict[str, list[AnyRule]] = defaultdict(list)
        self._builtins: dict[str, list[AnyRule]] = defaultdict(list)
        self._conditions = [rule for rule in rules if rule.wants.conditions]
        self._formats = [rule for rule in rules if rule.wants.formats]
        self._subscripts = [rule for rule in rules if rule.wants.subscripts]
        self._added = [rule for rule in rules if rule.wants.added]
        self._settings: dict[str, dict[str, list[AnyRule]]] = {}
        for rule in rules:
            for name in rule.wants.settings:
                owner, _, last = name.rpartition(".")
                self._settings.setdefault(last, {}).setdefault(owner, []).append(rule)
            for name in rule.wants.calls:
                self._calls[name].append(rule)
                self._last_names.add(name.rpartition(".")[2])
            for name in rule.wants.methods:
                self._methods[name].append(rule)
            for name in rule.wants.builtins:
                self._builtins[name].append(rule)

    def interesting(self, aliases: dict[str, set[str]]) -> set[str]:
        """The names whose calls are worth a look in a module with these imports."""
        renamed = {
            alias
            for alias, targets in aliases.items()
            if any(target.rpartition(".")[2] in self._last_names for target in targets)
        }
        return self._last_names | self._methods.keys() | self._builtins.keys() | renamed

    def sites(
        self,
        outline: Outline,
        interesting: set[str],
        qualified: Named,
        is_builtin: Callable[[ast.Name], bool],
        is_computed: Callable[[str], bool],
    ) -> Iterator[tuple[AnyRule, ast.expr]]:
        """Each rule with each node it wants to see; the callables answer for the module around the chunk."""
        for site in outline.calls:
            if site.handed_over or site.name not in interesting:
                continue
            node = site.node
            if isinstance(node.func, ast.Attribute):
                for rule in self._methods.get(site.name, ()):
                    yield rule, node
            elif site.name in self._builtins and isinstance(node.func, ast.Name) and is_builtin(node.func):
                for rule in self._builtins[site.name]:
                    yield rule, node
            if self._calls:
                name = qualified(node.func)
                if name is not None:
                    for rule in self._calls.get(name, ()):
                        yield rule, node
        for rules, nodes in ((self._conditions, outline.conditions), (self._formats, outline.formats)):
            for test in nodes if rules else ():
                if may_be_tensor(test, outline.blocks[test].function, is_computed):
                    for rule in rules:
                        yield rule, test
        for value in outline.added if self._added else ():
            for rule in self._added:
                yield rule, value
        for last in outline.settings.keys() & self._settings.keys():
            for target in outline.settings[last]:
                for rule in self._settings[last].get(qualified(target.value) or "", ()):
                    yield rule, target
        for subscript in outline.subscripts if self._subscripts else ():
            if may_index(subscript.slice, outline.blocks[subscript].function, is_computed):
                for rule in self._subscripts:
                    yield rule, subscript
