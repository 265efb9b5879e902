"""The editor's settings of Warplint, as one folder has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

SECTION = "warplint"


@dataclass(frozen=True, slots=True)
class Settings:
    """The defaults are what clients without settings get. ``minimum_share`` is from 0 to 1."""

    enabled: bool = True
    inline_costs: bool = True
    code_lenses: bool = True
    minimum_share: float = 0.01
    interpreter: Path | None = None
    """The Python that runs the programs; its torch counts where a project asks for none."""


DEFAULTS = Settings()


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_percent(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 100


def _fraction(percent: float) -> float:
    return percent / 100


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _interpreter(text: str) -> Path | None:
    """An interpreter's path; None for one with variables of the editor in it, which are not known here."""
    path = Path(text).expanduser()
    return path if path.is_absolute() else None


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class _Setting:
    """One setting: its name in the editor, our field, and what it may be."""

    name: str
    field: str
    fits: Callable[[object], bool]
    wanted: str
    taken: Callable[[Any], Any] = _same


SETTINGS = (
    _Setting("enable", "enabled", _is_bool, "true or false"),
    _Setting("costs.inline", "inline_costs", _is_bool, "true or false"),
    _Setting("costs.codeLens", "code_lenses", _is_bool, "true or false"),
    _Setting("costs.minimumShare", "minimum_share", _is_percent, "a number from 0 to 100", _fraction),
    _Setting("program.interpreter", "interpreter", _is_text, "a path", _interpreter),
)


def read_settings(answer: object) -> tuple[Settings, list[str]]:
    """Settings from what a client gives for the section, and a sentence for each that cannot be used.

    What is not set, and what cannot be used, has its default.
    """
    values: dict[str, Any] = {}
    refused = []
    for setting in SETTINGS:
        given = _lookup(answer, setting.name)
        if given is None:
            continue
        if setting.fits(given):
            values[setting.field] = setting.taken(given)
        else:
            refused.append(
                f"{SECTION}.{setting.name} must be {setting.wanted}, not {given!r}; the default is used"
            )
    return replace(DEFAULTS, **values), refused


def _lookup(answer: object, name: str) -> object:
    """The value at a dotted name in nested mappings; None where there is none."""
    for key in name.split("."):
        answer = answer.get(key) if isinstance(answer, Mapping) else None
    return answer


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """The settings of each folder open in the editor, and of all files outside them."""

    elsewhere: Settings = DEFAULTS
    folders: Mapping[Path, Settings] = field(default_factory=dict)

    def of(self, path: Path) -> Settings:
        """Those of the innermost folder around a path."""
        around = [folder for folder in self.folders if path.is_relative_to(folder)]
        innermost = max(around, key=lambda folder: len(folder.parts), default=None)
        return self.elsewhere if innermost is None else self.folders[innermost]
