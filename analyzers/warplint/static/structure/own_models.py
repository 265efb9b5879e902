"""Whether a file makes the models that it trains, so that nobody else can have moved them to a GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.parsing.tree import last_name
from warplint.static.structure.index import Index

_MODULES = "torch.nn."
_LIBRARY = "torch."


def makes_what_it_trains(index: Index) -> bool:
    """Whether each model whose parameters a file asks for is made in it, of its own classes or PyTorch's."""
    trained = set(_trained(index))
    own: set[str] = set()
    for placed in index.chunks:
        for name, call in placed.chunk.made:
            if name not in trained:
                continue
            if _is_own(call, index):
                own.add(name)
            elif _is_foreign(call, index):
                return False
    return bool(trained) and trained <= own


def _trained(index: Index) -> Iterator[str]:
    """The last names of what the file asks for its parameters; a model that asks itself is another's part."""
    for site in index.calls:
        if site.name == "parameters" and not site.handed_over and isinstance(site.node.func, ast.Attribute):
            model = site.node.func.value
            if not isinstance(model, ast.Name) or model.id != "self":
                yield last_name(model)


def _is_own(call: ast.Call, index: Index) -> bool:
    function = call.func
    if isinstance(function, ast.Name) and function.id in index.classes:
        return True
    return (index.global_name(function) or "").startswith(_MODULES)


def _is_foreign(call: ast.Call, index: Index) -> bool:
    """Whether something made is what another file or library gives."""
    name = index.global_name(call.func)
    return not name.startswith(_LIBRARY) if name is not None else bool(index.imports_of(call.func))
