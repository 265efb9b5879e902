"""The settings that a file declares for its users, by name, each with what it is when nobody says otherwise.

Read are options of argparse, optparse and click, flags of absl, and fields of classes, as dataclasses,
pydantic and command lines made from them have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.parsing.blocks import ClassOutline
from warplint.static.parsing.tree import last_name
from warplint.static.structure.index import Index
from warplint.static.tables.words import words

OPTION_CALLS = words("add_argument add_option make_option option")
FIELD_CALLS = words("Argument Field Option field")
"""Calls that stand where a default would, and hold it: ``workers: int = typer.Option(0)``."""
NAMED_DEFAULTS = "set_defaults"
ABSL_FLAG = "DEFINE_"

_WITHOUT_VALUE = {"store_true": False, "store_false": True}
"""Actions of options that take no value, with what such an option is when it is not given."""

Declared = tuple[str, ast.expr]


def declared(index: Index) -> dict[str, list[ast.expr]]:
    """What each setting of a file is by default; of several of one name, each."""
    found: dict[str, list[ast.expr]] = {}
    for name, default in [*_by_calls(index), *_by_classes(index)]:
        found.setdefault(name, []).append(held(default))
    return found


def held(default: ast.expr) -> ast.expr:
    """The default itself, where a call that describes the setting stands in its place."""
    if not isinstance(default, ast.Call) or last_name(default) not in FIELD_CALLS:
        return default
    return _keyword(default, "default") or next(iter(default.args), default)


def of_decorators(decorators: list[ast.expr], parameter: str) -> Iterator[ast.expr]:
    """What click hands a function as a parameter when the option is not given."""
    for decorator in decorators:
        if isinstance(decorator, ast.Call) and last_name(decorator) in OPTION_CALLS:
            yield from (default for name, default in _option(decorator) if name == parameter)


def _by_calls(index: Index) -> Iterator[Declared]:
    for site in index.calls:
        if site.handed_over:
            continue
        if site.name in OPTION_CALLS:
            yield from _option(site.node)
        elif site.name == NAMED_DEFAULTS:
            yield from _keywords(site.node)
        elif site.name.startswith(ABSL_FLAG):
            yield from _absl_flag(site.node)
        elif site.name in index.classes:
            fields = {name for name, _ in _fields(index.classes[site.name])}
            yield from ((name, value) for name, value in _keywords(site.node) if name in fields)


def _by_classes(index: Index) -> Iterator[Declared]:
    for owner in index.classes.values():
        yield from _fields(owner)


def _fields(owner: ClassOutline) -> Iterator[Declared]:
    for statement in owner.node.body:
        targets: list[ast.expr]
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and statement.value is not None:
                yield target.id, statement.value


def _option(call: ast.Call) -> Iterator[Declared]:
    """An option that need not be given: ``add_argument("-j", "--workers", default=0)``."""
    texts = [
        each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    flags = [text for text in texts if text.startswith("-")]
    default = _keyword(call, "default")
    if default is None:
        if not flags or _is_true(call, "required"):
            return
        default = ast.Constant(_without_default(call, flags))
    destination = _keyword(call, "dest")
    if isinstance(destination, ast.Constant) and isinstance(destination.value, str):
        yield destination.value, default
    elif texts:
        plain = [text for text in texts if text not in flags]
        long = [flag for flag in flags if flag.startswith("--")]
        name = [*plain, *long, *flags][0].partition("/")[0]
        yield name.lstrip("-").replace("-", "_"), default


def _without_default(call: ast.Call, flags: list[str]) -> bool | None:
    action = _keyword(call, "action")
    if isinstance(action, ast.Constant) and action.value in _WITHOUT_VALUE:
        return _WITHOUT_VALUE[action.value]
    return False if _is_true(call, "is_flag") or any("/" in flag for flag in flags) else None


def _absl_flag(call: ast.Call) -> Iterator[Declared]:
    default = _keyword(call, "default") or next(iter(call.args[1:2]), None)
    name = next(iter(call.args), None)
    if isinstance(name, ast.Constant) and isinstance(name.value, str) and default is not None:
        yield name.value, default


def _keywords(call: ast.Call) -> Iterator[Declared]:
    return ((word.arg, word.value) for word in call.keywords if word.arg is not None)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((value for keyword, value in _keywords(call) if keyword == name), None)


def _is_true(call: ast.Call, name: str) -> bool:
    value = _keyword(call, name)
    return isinstance(value, ast.Constant) and value.value is True
