"""Settings that a function takes for its loaders and hands to one of them, but not to another."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.parsing.tree import below, with_defaults
from warplint_rules._calls import keyword
from warplint_rules._loaders import is_loader


def is_left_behind(loader: ast.Call, name: str, facts: Facts) -> bool:
    """Whether the function around takes the setting, hands it to its other loaders only, and so not to this.

    The function's own ``**more`` can't hold a parameter that it names itself.
    """
    function = facts.function(loader)
    if function is None or isinstance(function.node, ast.Lambda) or keyword(loader, name) is not None:
        return False
    if all(argument.arg != name for argument, _ in with_defaults(function.node.args)):
        return False
    more = function.node.args.kwarg
    if not all(_is_name(given.value, more) for given in loader.keywords if given.arg is None):
        return False
    handed = [node for node in below(function.node) if isinstance(node, ast.keyword)]
    spread = {given.value for given in handed if given.arg is None}
    given_on = {
        part
        for call in _others(loader, facts)
        for given in call.keywords
        if given.arg == name
        for part in ast.walk(given.value)
    }
    uses = [node for node in below(function.node) if isinstance(node, ast.Name)]
    is_changed = any(_is_name(node, more) and node not in spread for node in uses)
    named = [node for node in uses if node.id == name]
    return bool(named) and not is_changed and all(node in given_on for node in named)


def is_given_to_twin(loader: ast.Call, name: str, facts: Facts) -> bool:
    """Whether a setting is left behind that another loader of the same data set is handed."""
    data = [ast.unparse(given) for given in _data(loader)]
    return is_left_behind(loader, name, facts) and any(
        keyword(call, name) is not None and [ast.unparse(given) for given in _data(call)] == data
        for call in _others(loader, facts)
    )


def _data(loader: ast.Call) -> list[ast.expr]:
    return [*loader.args[:1], *(given.value for given in loader.keywords if given.arg == "dataset")]


def _others(loader: ast.Call, facts: Facts) -> list[ast.Call]:
    """The other loaders that the function around makes."""
    function = facts.function(loader)
    calls = [node for node in below(function.node) if isinstance(node, ast.Call)] if function else []
    return [call for call in calls if call is not loader and is_loader(call, facts)]


def _is_name(node: ast.expr, argument: ast.arg | None) -> bool:
    return argument is not None and isinstance(node, ast.Name) and node.id == argument.arg
