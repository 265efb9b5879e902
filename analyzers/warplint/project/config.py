"""``[tool.warplint]`` in pyproject.toml."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from warplint.project.globs import Globs
from warplint.project.root import PYPROJECT, folders_above
from warplint.project.selection import EVERY_RULE, Selection, did_you_mean

TABLE = "tool.warplint"

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pyenv",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    ".warplint",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file, the key and what is accepted."""


@dataclass(frozen=True)
class Config:
    """The settings of one folder and what is below it.

    ``root`` is the folder that ``exclude`` and ``per_file_ignores`` count from; ``file`` the pyproject.toml
    they come from, None for the defaults.
    """

    root: Path
    file: Path | None = None
    select: tuple[str, ...] = (EVERY_RULE,)
    ignore: tuple[str, ...] = ()
    preview: bool = False
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @cached_property
    def excluded(self) -> Globs:
        return Globs((*self.exclude, *self.extend_exclude))

    @property
    def selection(self) -> Selection:
        return Selection(self.select, self.ignore, self.preview)

    def enabled(self, code: str, preview: bool = False) -> bool:
        """Whether a rule is on; ``preview`` says that it is new and off unless asked for."""
        return self.selection.enabled(code, preview)

    def selection_for(self, path: Path) -> Selection:
        """The selection with what ``per-file-ignores`` adds for this file."""
        if not self.per_file_ignores:
            return self.selection
        relative = self.relative(path)
        extra = [codes for glob, codes in self.per_file_ignores if Globs([glob]).match(relative)]
        return Selection(
            self.select, (*self.ignore, *(code for codes in extra for code in codes)), self.preview
        )

    def relative(self, path: Path) -> str:
        """The path from ``root``, with forward slashes; the whole path when it is outside."""
        try:
            return path.absolute().relative_to(self.root).as_posix()
        except ValueError:
            return path.absolute().as_posix().lstrip("/")


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the table: the field it fills, what it accepts in words, and how a value is read.

    ``read`` returns None for a value of the wrong type.
    """

    field: str
    accepts: str
    read: Callable[[Any], object]


def _strings(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return tuple(value)
    return None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _strings_by_glob(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    if not isinstance(value, dict):
        return None
    read = [(glob, codes) for glob, listed in value.items() if (codes := _strings(listed)) is not None]
    return tuple(read) if len(read) == len(value) else None


CODES = 'a list of rule codes or prefixes, such as ["WL2", "WL101"]'
GLOBS = 'a list of file patterns, such as ["third_party", "models/legacy/*.py"]'
KEYS = {
    "select": Key("select", CODES, _strings),
    "ignore": Key("ignore", CODES, _strings),
    "preview": Key("preview", "true or false", _boolean),
    "exclude": Key("exclude", GLOBS, _strings),
    "extend-exclude": Key("extend_exclude", GLOBS, _strings),
    "per-file-ignores": Key(
        "per_file_ignores",
        'a table from file patterns to lists of rule codes, such as {"tests/*" = ["WL2"]}',
        _strings_by_glob,
    ),
}


def load_config(start: Path) -> Config:
    """The settings for ``start``: those of the nearest pyproject.toml with a ``[tool.warplint]`` table.

    A pyproject.toml without the table is passed over. Raises ConfigError.
    """
    folders = list(folders_above(start))
    return next((config for folder in folders if (config := config_in(folder))), Config(folders[0]))


def config_in(folder: Path) -> Config | None:
    """The settings that this folder's own pyproject.toml makes, if it does. Raises ConfigError."""
    file = folder / PYPROJECT
    table = _read_table(file)
    if table is None:
        return None
    return Config(root=folder, file=file, **_read_keys(table, file))


def _read_table(file: Path) -> dict[str, Any] | None:
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # That a whole folder is closed is said where its files are looked for.
        if not os.access(file.parent, os.X_OK):
            return None
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    # Most projects' files are not for us: their syntax is not our business, and parsing them costs start-up.
    if b"warplint" not in data:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None
    tool = document.get("tool", {})
    table = tool.get("warplint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{file}: {TABLE} must be a table, not {_type_name(table)}")
    return table


def _read_keys(table: dict[str, Any], file: Path) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in table.items():
        key = KEYS.get(name)
        if key is None:
            hint = did_you_mean(name, KEYS)
            raise ConfigError(f"{file}: [{TABLE}] has no key {name!r}{hint} (accepted: {', '.join(KEYS)})")
        read = key.read(value)
        if read is None:
            raise ConfigError(f"{file}: [{TABLE}] {name} must be {key.accepts}, not {_type_name(value)}")
        fields[key.field] = read
    return fields


def _type_name(value: object) -> str:
    """A TOML value's type in words."""
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", dict: "a table"}
    if isinstance(value, list):
        wrong = next((item for item in value if not isinstance(item, str)), "")
        return f"a list with {'an empty string' if wrong == '' else _type_name(wrong)} in it"
    return names.get(type(value), "a date or time")
