"""What a run would check, and with which settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from warplint.project.catalogue import catalogue_of
from warplint.project.config import KEYS, TABLE, Config
from warplint.project.files import Target, Unreadable
from warplint.project.result import shown
from warplint.static.torch_version import NEWEST

TORCH = "torch_version"


def files(items: Iterable[Target | Unreadable]) -> Iterator[str]:
    """A line with its end for each path."""
    for item in items:
        yield f"{shown(item.path)}\n"


def settings(items: Iterable[Target | Unreadable]) -> Iterator[str]:
    """The settings of each project with files to check, as the TOML that would make them."""
    first: dict[Config, Path] = {}
    for item in items:
        first.setdefault(item.config, item.path)
    for number, (config, path) in enumerate(first.items()):
        origin = f"from {shown(config.file)}" if config.file else "without a configuration file"
        yield from ["\n"] if number else []
        yield f"# For {shown(path)} and what else is configured like it, {origin}.\n"
        yield f"[{TABLE}]\n"
        for name, key in KEYS.items():
            if key.field != TORCH:
                yield f"{name} = {_toml(getattr(config, key.field), key.kind.schema['type'])}\n"
        yield _torch(config)
        yield from _rules_that_are_on(config)


def _torch(config: Config) -> str:
    """The torch that is checked for, and where it comes from; a comment where none is named anywhere."""
    version, origin = config.torch.version, config.torch.origin
    if version == NEWEST:
        return f"# torch-version: the newest, since {origin}\n"
    return f"torch-version = {_toml(str(version))}  # {origin}\n"


def _rules_that_are_on(config: Config) -> Iterator[str]:
    yield "# Rules that are on:\n"
    catalogue = catalogue_of(config)
    selection = catalogue.understood(config).selection
    for rule in catalogue.declared:
        if selection.enabled(rule.code, rule.preview) and rule.holds_for(config.torch.version):
            yield f"# {rule.code} {rule.name}\n"


def _toml(value: object, type_name: str = "") -> str:
    """A setting as TOML. A tuple is an array, or for an ``object`` a table's pairs."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple) and type_name == "object":
        return "{ " + ", ".join(f"{_toml(name)} = {_toml(held)}" for name, held in value) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # A basic string of TOML has the escapes of JSON.
    return json.dumps(value, ensure_ascii=False)
