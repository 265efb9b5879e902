"""From what rules want, as data, to the sites they are asked about: one pass over each chunk's outline."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from warplint.static.outline import Outline
from warplint.static.rule import Rule
from warplint.static.tables import conditions
from warplint.static.tree import last_name

Named = Callable[[ast.expr], str | None]


class Nominator:
    """The wishes of all rules in tables keyed by name."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._calls: dict[str, list[Rule]] = defaultdict(list)
        self._last_names: set[str] = set()
        self._methods: dict[str, list[Rule]] = defaultdict(list)
        self._builtins: dict[str, list[Rule]] = defaultdict(list)
        self._conditions = [rule for rule in rules if rule.wants.conditions]
        self._formats = [rule for rule in rules if rule.wants.formats]
        for rule in rules:
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
    ) -> Iterator[tuple[Rule, ast.expr]]:
        """Each rule with each node it wants to see in a chunk."""
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
        for test in filter(may_be_tensor, outline.conditions if self._conditions else ()):
            for rule in self._conditions:
                yield rule, test
        for text in filter(may_be_tensor, outline.formats if self._formats else ()):
            for rule in self._formats:
                yield rule, text


def may_be_tensor(test: ast.expr) -> bool:
    """Whether a condition could ask a tensor for its truth, by its form alone."""
    if isinstance(test, ast.Compare):
        if any(isinstance(operator, ast.Is | ast.IsNot) for operator in test.ops):
            return False
        parts = [test.left, *test.comparators]
        if any(isinstance(part, ast.Constant) and isinstance(part.value, str | bytes) for part in parts):
            return False
        return not any(_is_plain(part) for part in parts)
    if isinstance(test, ast.Call):
        return last_name(test) not in conditions.NEVER
    if isinstance(test, ast.Attribute):
        return test.attr not in conditions.FLAGS
    return not isinstance(test, ast.Constant | ast.List | ast.Dict | ast.Tuple | ast.JoinedStr | ast.Lambda)


def _is_plain(node: ast.expr) -> bool:
    """Lengths, sizes and literals that are no numbers: what they are compared with is no tensor either."""
    if isinstance(node, ast.Call):
        return last_name(node) in conditions.SIZES
    if isinstance(node, ast.Attribute):
        return node.attr in conditions.PROPERTIES
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool)
    return isinstance(node, ast.Tuple | ast.List | ast.Dict)
