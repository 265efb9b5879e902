"""Which imported name an expression stands for, seen from where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

from warplint.source.records import dataclass
from warplint.static.parsing.blocks import Import
from warplint.static.parsing.outline import Outline, imported
from warplint.static.parsing.tree import FunctionNode, walk_scope
from warplint.static.tables.frameworks import SPELLINGS, USUAL_ALIASES

Scoped = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """The usual spelling of a public name: ``torch.utils.data.DataLoader`` for its longer import paths."""
    for length in range(name.count(".") + 1, 0, -1):
        prefix = ".".join(name.split(".")[:length])
        if prefix in SPELLINGS:
            return canonical(SPELLINGS[prefix] + name[len(prefix) :])
    return name


@dataclass(frozen=True, slots=True)
class Scope:
    """The names one function (or the module) binds. ``imports`` are those that only imports bind."""

    bound: frozenset[str]
    imports: Mapping[str, str]


def function_scope(node: Scoped) -> Scope:
    """What a function binds itself, its parameters included."""
    arguments = node.args
    bound = {
        argument.arg
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        + [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
    }
    imports: dict[str, str] = {}
    shared: set[str] = set()
    hidden: set[int] = set()
    for inner in walk_scope(node):
        if isinstance(inner, ast.Global | ast.Nonlocal):
            shared.update(inner.names)
        elif isinstance(inner, ast.Import | ast.ImportFrom):
            imports.update(imported(inner))
        elif isinstance(inner, Comprehension):
            hidden.update(id(name) for name in _comprehension_names(inner))
        elif isinstance(inner, ast.Name):
            if isinstance(inner.ctx, ast.Store) and id(inner) not in hidden:
                bound.add(inner.id)
        else:
            bound.update(_names_of(inner))
    bound -= shared
    usable = {alias: target for alias, target in imports.items() if alias not in bound | shared}
    return Scope(frozenset(bound | (imports.keys() - shared)), usable)


def _names_of(node: ast.AST) -> Iterable[str]:
    """The names that statements other than assignments and imports bind."""
    if isinstance(node, FunctionNode | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        return (node.name,)
    if isinstance(node, ast.MatchMapping) and node.rest:
        return (node.rest,)
    return ()


def _comprehension_names(node: Comprehension) -> Iterable[ast.Name]:
    for generator in node.generators:
        for inner in ast.walk(generator.target):
            if isinstance(inner, ast.Name):
                yield inner


def comprehension_binds(node: Comprehension, name: str) -> bool:
    return any(bound.id == name for bound in _comprehension_names(node))


def module_scope(outlines: Iterable[Outline]) -> Scope:
    """What the module's own statements bind.

    An import stays one when its fallback is nothing: ``except ImportError: apex = None``. Of two imports of
    one name the first counts.
    """
    imports: dict[str, str] = {}
    assigned: dict[str, list[ast.stmt]] = {}
    for outline in outlines:
        for item in outline.imports:
            if item.function is None:
                imports.setdefault(item.alias, item.target)
        for name, statements in outline.globals.items():
            assigned.setdefault(name, []).extend(statements)
    if "*" in imports:
        imports = {**_handed_on(assigned), **imports}
    usable = {
        alias: target for alias, target in imports.items() if all(map(_is_fallback, assigned.get(alias, ())))
    }
    return Scope(frozenset(assigned) | imports.keys(), usable)


def _handed_on(assigned: Mapping[str, list[ast.stmt]]) -> dict[str, str]:
    """What ``from helpers import *`` most likely binds beside the helpers: the usual names of libraries."""
    return {alias: target for alias, target in USUAL_ALIASES.items() if alias not in assigned}


def _is_fallback(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, bool))


def aliases(imports: Iterable[Import]) -> dict[str, set[str]]:
    """Every alias of a module, wherever it is bound, with all it may stand for."""
    found: dict[str, set[str]] = {}
    for item in imports:
        found.setdefault(item.alias, set()).add(item.target)
    if "*" in found:
        for alias, target in USUAL_ALIASES.items():
            found.setdefault(alias, {target})
    return found
