"""What is known of rules before they are imported, kept in the user's cache folder from run to run.

Importing every rule was half of what checking a small file took, and most files need few of them. The index
holds what rules declare, as of the sizes and times of change of Warplint's own files, this Warplint and this
Python. One of anything else counts for nothing, and one that cannot be read or written is no error: then the
rules are imported. It can be deleted at any time.
"""

from __future__ import annotations

import importlib
import marshal
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import warplint
from warplint.source.records import dataclass
from warplint.static.finding import Severity
from warplint.static.rules.rule import Rule, TorchVersion, Wants, is_right_for

CRC_BYTES = 4


@dataclass(frozen=True)
class IndexedRule:
    """What a rule declares; ``rule`` imports it."""

    module: str
    class_name: str
    code: str
    name: str
    preview: bool
    severity: Severity
    since: TorchVersion | None
    until: TorchVersion | None
    wants: Wants

    @cached_property
    def rule(self) -> Rule:
        made: Rule = getattr(importlib.import_module(self.module), self.class_name)()
        return made

    def holds_for(self, torch: TorchVersion) -> bool:
        """Whether the advice is right for a program that runs with this torch."""
        return is_right_for(torch, self.since, self.until)


AnyRule = Rule | IndexedRule


def imported(rule: AnyRule) -> Rule:
    """The rule itself."""
    return rule.rule if isinstance(rule, IndexedRule) else rule


class RuleIndex:
    """The index of the rules below some folders."""

    def __init__(self, folders: Iterable[str]) -> None:
        folders = sorted(folders)
        # Taken before rules are imported: a file that changes meanwhile makes the index one of the past.
        self._state = [warplint.__version__, sys.version, *_state([*warplint.__path__, *folders])]
        self._file = _file(folders)

    def read(self) -> tuple[IndexedRule, ...] | None:
        """The rules, or None where they must be imported."""
        if self._file is None:
            return None
        try:
            held = self._file.read_bytes()
        except OSError:
            return None
        # marshal trusts what it reads: a file that was cut off must not get there.
        if held[:CRC_BYTES] != _checksum(held[CRC_BYTES:]):
            return None
        try:
            state, rows = marshal.loads(held[CRC_BYTES:])
        except (ValueError, EOFError, TypeError):
            return None
        return tuple(_from_row(*row) for row in rows) if state == self._state else None

    def write(self, rules: Sequence[Rule]) -> None:
        """Keep what rules declare, for the next run."""
        if self._file is None:
            return
        rows: list[Any] = [_as_row(rule) for rule in rules]
        held = marshal.dumps((self._state, rows))
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # Whoever reads it meanwhile, in whichever process, sees the old or the new one.
            part = self._file.with_name(f"{self._file.name}.{os.getpid()}.part")
            part.write_bytes(_checksum(held) + held)
            part.replace(self._file)


def _as_row(rule: Rule) -> tuple[object, ...]:
    kind, wants = type(rule), rule.wants
    bounds = ((bound.major, bound.minor) if bound is not None else None for bound in (rule.since, rule.until))
    wishes = {name: getattr(wants, name) for name in Wants.__match_args__}
    return (
        kind.__module__, kind.__qualname__, rule.code, rule.name, rule.preview, rule.severity.value,
        *bounds, {name: wish for name, wish in wishes.items() if wish},
    )  # fmt: skip


def _from_row(
    module: str,
    class_name: str,
    code: str,
    name: str,
    preview: bool,
    severity: str,
    since: tuple[int, int] | None,
    until: tuple[int, int] | None,
    wishes: dict[str, Any],
) -> IndexedRule:
    first, end = (TorchVersion(*bound) if bound is not None else None for bound in (since, until))
    return IndexedRule(
        module, class_name, code, name, preview, Severity(severity), first, end, Wants(**wishes)
    )  # fmt: skip


def _state(pending: list[str]) -> Iterable[str]:
    """The sizes and times of change of the Python files below folders. Tables of the engine are among them:
    rules declare what is in those."""
    parts = []
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    parts.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
                elif "." not in entry.name and entry.name != "__pycache__":
                    pending.append(entry.path)
    return sorted(parts)


def _file(folders: Sequence[str]) -> Path | None:
    """Where the index of some folders is kept: there is one for each installation and Python."""
    home = Path("~").expanduser
    with suppress(RuntimeError):
        if sys.platform == "win32":
            cache = Path(os.environ.get("LOCALAPPDATA") or home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            cache = home() / "Library" / "Caches"
        else:
            cache = Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache")
        where = "\0".join([*folders, sys.implementation.cache_tag or ""])
        return cache / "warplint" / f"rules-{crc32(os.fsencode(where)):08x}"
    return None


def _checksum(data: bytes) -> bytes:
    return crc32(data).to_bytes(CRC_BYTES, "big")
