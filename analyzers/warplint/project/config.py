"""``[tool.warplint]`` in pyproject.toml, and what the command line puts in its place."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from warplint.project.globs import Globs
from warplint.project.root import PYPROJECT, folders_above
from warplint.project.selection import EVERY_RULE, Selection, did_you_mean, longest_match
from warplint.project.torch_target import UNKNOWN, TorchTarget, TorchTargets
from warplint.source.records import dataclass, replace
from warplint.static.finding import Severity
from warplint.static.torch_version import TorchVersion

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
    ".warplint_cache",
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
    they come from, None for the defaults. ``found_torch`` counts where they name no ``torch_version``.
    """

    root: Path
    file: Path | None = None
    select: tuple[str, ...] = (EVERY_RULE,)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    preview: bool = False
    severity: tuple[tuple[str, Severity], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    packs: tuple[str, ...] = ()
    torch_version: TorchVersion | None = None
    found_torch: TorchTarget = UNKNOWN

    @property
    def torch(self) -> TorchTarget:
        """The release that programs are checked for."""
        if self.torch_version is None:
            return self.found_torch
        return TorchTarget(self.torch_version, "configured")

    @cached_property
    def excluded(self) -> Globs:
        return Globs((*self.exclude, *self.extend_exclude))

    @property
    def names_rules(self) -> bool:
        """Whether it says anything of rules: what it says may then be wrong."""
        added = self.extend_select, self.ignore, self.extend_ignore, self.severity, self.per_file_ignores
        return self.select != (EVERY_RULE,) or any(added) or bool(self.packs)

    @property
    def selection(self) -> Selection:
        return Selection(
            (*self.select, *self.extend_select), (*self.ignore, *self.extend_ignore), self.preview
        )

    def enabled(self, code: str, preview: bool = False) -> bool:
        """Whether a rule is on; ``preview`` says that it is new and off unless asked for."""
        return self.selection.enabled(code, preview)

    def selection_for(self, path: Path) -> Selection:
        """The selection with what ``per-file-ignores`` adds for this file."""
        if not self.per_file_ignores:
            return self.selection
        relative = self.relative(path)
        extra = [codes for glob, codes in self.per_file_ignores if Globs([glob]).match(relative)]
        selection = self.selection
        return replace(selection, ignore=(*selection.ignore, *(code for codes in extra for code in codes)))

    def severity_of(self, code: str, default: Severity) -> Severity:
        """How much a rule's findings matter here: as the longest code or prefix that fits says."""
        fitting = longest_match(code, (selector for selector, _ in self.severity))
        return default if fitting is None else dict(self.severity)[fitting]

    def relative(self, path: Path) -> str:
        """The path from ``root``, with forward slashes; the whole path when it is outside."""
        try:
            return path.absolute().relative_to(self.root).as_posix()
        except ValueError:
            return path.absolute().as_posix().lstrip("/")


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of value: what it accepts in words and as JSON Schema, and how a value is read.

    ``read`` returns None for a value of the wrong type.
    """

    accepts: str
    schema: dict[str, Any]
    read: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the table: the field it fills, its type, and what it means in a sentence."""

    field: str
    kind: Kind
    meaning: str


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


def _severities(value: Any) -> tuple[tuple[str, Severity], ...] | None:
    if not isinstance(value, dict) or not all(level in SEVERITIES for level in value.values()):
        return None
    return tuple((selector, Severity(level)) for selector, level in value.items())


def _torch_version(value: Any) -> TorchVersion | None:
    fits = isinstance(value, str) and re.fullmatch(TORCH_VERSION, value)
    return TorchVersion.parse(value) if fits else None


TORCH_VERSION = r"[0-9]+\.[0-9]+(\.[0-9]+)?"
SEVERITIES = tuple(severity.value for severity in Severity)
STRINGS = {"type": "array", "items": {"type": "string", "minLength": 1}}
CODES = Kind(
    'a list of rule codes, prefixes or names, such as ["WL2", "WL101", "host-read-in-hot-loop"]',
    STRINGS,
    _strings,
)
GLOBS = Kind('a list of file patterns, such as ["third_party", "models/legacy/*.py"]', STRINGS, _strings)
BOOLEAN = Kind("true or false", {"type": "boolean"}, _boolean)
KEYS = {
    "select": Key("select", CODES, "The rules that are on. The longest code or prefix that fits decides."),
    "extend-select": Key("extend_select", CODES, "Rules that are on besides those of `select`."),
    "ignore": Key("ignore", CODES, "Rules that are off."),
    "extend-ignore": Key("extend_ignore", CODES, "Rules that are off besides those of `ignore`."),
    "preview": Key("preview", BOOLEAN, "Whether rules that are still on trial are on too."),
    "severity": Key(
        "severity",
        Kind(
            'a table from rule codes to "error", "warning", "info" or "hint", such as {WL2 = "error"}',
            {"type": "object", "additionalProperties": {"enum": list(SEVERITIES)}},
            _severities,
        ),
        "How much a rule's findings matter. Only errors and warnings make `warplint check` fail.",
    ),
    "exclude": Key("exclude", GLOBS, "Files and folders that are left out."),
    "extend-exclude": Key("extend_exclude", GLOBS, "Files and folders that are left out besides `exclude`."),
    "respect-gitignore": Key(
        "respect_gitignore", BOOLEAN, "Whether files and folders that git ignores are left out."
    ),
    "per-file-ignores": Key(
        "per_file_ignores",
        Kind(
            'a table from file patterns to lists of rule codes, such as {"tests/*" = ["WL2"]}',
            {"type": "object", "additionalProperties": STRINGS},
            _strings_by_glob,
        ),
        "Rules that are off in the files that a pattern fits.",
    ),
    "packs": Key(
        "packs",
        Kind(
            'a list of packages with rules beside this file or in its src folder, such as ["team_rules"]',
            STRINGS,
            _strings,
        ),
        "Packages with rules of your own, which `warplint check` imports.",
    ),
    "torch-version": Key(
        "torch_version",
        Kind(
            'a release of torch, such as "2.4"',
            {"type": "string", "pattern": f"^{TORCH_VERSION}$"},
            _torch_version,
        ),
        "The oldest torch that the program runs with, where it is not what the project asks for.",
    ),
}


def load_config(start: Path) -> Config:
    """The settings for ``start``: those of the nearest pyproject.toml with a ``[tool.warplint]`` table.

    A pyproject.toml without the table is passed over. Raises ConfigError.
    """
    folders = list(folders_above(start))
    return next((config for folder in folders if (config := config_in(folder))), Config(folders[0]))


def aimed(config: Config, folder: Path, targets: TorchTargets) -> Config:
    """The settings with the torch of a folder, unless they name one."""
    return config if config.torch_version is not None else replace(config, found_torch=targets.of(folder))


def config_in(folder: Path) -> Config | None:
    """The settings that this folder's own pyproject.toml makes, if it does. Raises ConfigError."""
    file = folder / PYPROJECT
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
    table = _table(_document(data, file), file)
    return None if table is None else Config(folder, file, **_read_keys(table, f"{file}: [{TABLE}]"))


def config_of(file: Path, root: Path) -> Config:
    """The settings of a file that was named: those of its ``[tool.warplint]``, or else all it holds.

    What it excludes counts from ``root``. Raises ConfigError.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    document = _document(data, file)
    table = _table(document, file)
    if table is not None:
        return Config(root, file, **_read_keys(table, f"{file}: [{TABLE}]"))
    if file.name == PYPROJECT:
        raise ConfigError(f"{file} has no table [{TABLE}]")
    return Config(root, file, **_read_keys(document, f"{file}:"))


def read_settings(settings: Iterable[str]) -> dict[str, Any]:
    """The fields that ``key=value`` settings fill, each value in TOML. Raises ConfigError."""
    table: dict[str, Any] = {}
    for setting in settings:
        table.update(_document(setting.encode(), f"--config {setting}"))
    return _read_keys(table, "--config:")


def _document(data: bytes, origin: Path | str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{origin} is not valid TOML: {error}") from None


def _table(document: dict[str, Any], file: Path) -> dict[str, Any] | None:
    tool = document.get("tool", {})
    if not isinstance(tool, dict):
        raise ConfigError(f"{file}: tool must be a table, not {_type_name(tool)}")
    table = tool.get("warplint")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{file}: {TABLE} must be a table, not {_type_name(table)}")
    return table


def _read_keys(table: dict[str, Any], origin: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in table.items():
        key = KEYS.get(name)
        if key is None:
            hint = did_you_mean(name, KEYS)
            where = origin.removesuffix(":")
            raise ConfigError(f"{where} has no key {name!r}{hint} (accepted: {', '.join(KEYS)})")
        read = key.kind.read(value)
        if read is None:
            refused = repr(value) if _is_wrong_text(key, value) else _type_name(value)
            raise ConfigError(f"{origin} {name} must be {key.kind.accepts}, not {refused}")
        fields[key.field] = read
    return fields


def _is_wrong_text(key: Key, value: object) -> bool:
    """Whether a value has the right type and the wrong content."""
    return isinstance(value, str) and key.kind.schema["type"] == "string"


def _type_name(value: object) -> str:
    """A TOML value's type in words."""
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", dict: "a table"}
    if isinstance(value, list):
        wrong = next((item for item in value if not isinstance(item, str)), "")
        return f"a list with {'an empty string' if wrong == '' else _type_name(wrong)} in it"
    if isinstance(value, dict):
        wrong = next((item for item in value.values() if item not in SEVERITIES), "")
        return f"a table with {repr(wrong) if isinstance(wrong, str) else _type_name(wrong)} in it"
    return names.get(type(value), "a date or time")
