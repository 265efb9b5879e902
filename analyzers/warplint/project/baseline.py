"""Findings that a project has agreed to live with, in a file: only new ones are reported.

An entry says how often a rule fires in a function or class, not on which lines, so that edits elsewhere in a
file do not wake what was agreed on. A finding more than that in the same place is new.
"""

from __future__ import annotations

import ast
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from warplint.project.config import ConfigError
from warplint.project.result import FileResult
from warplint.source.functions import functions_of_broken, innermost
from warplint.source.records import dataclass, replace
from warplint.source.text import SourceText

VERSION = 1


class BaselineError(ConfigError):
    """A baseline that cannot be read or written; the message names the file."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """Where and what. ``path`` counts from the baseline's folder and has forward slashes.

    ``scope`` is a function or class by its qualified name, and empty at the top of a module.
    """

    path: str
    scope: str
    code: str

    def __str__(self) -> str:
        return f"{self.path}: {self.code}" + (f" in {self.scope}" if self.scope else "")


class Baseline:
    """The entries of one file, each with how many findings it covers."""

    def __init__(self, file: Path, entries: Counter[Entry] | None = None) -> None:
        self.file = file
        self._folder = Path(os.path.normpath(file.absolute())).parent
        self._entries = entries or Counter()
        self._left = self._entries.copy()
        self._seen: set[str] = set()

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Raises BaselineError."""
        try:
            held = json.loads(file.read_text(encoding="utf-8"))
            entries = Counter(
                {
                    Entry(path, scope, code): int(count)
                    for path, scopes in held["findings"].items()
                    for scope, codes in scopes.items()
                    for code, count in codes.items()
                }
            )
        except OSError as error:
            remedy = "; write it with --write-baseline" if isinstance(error, FileNotFoundError) else ""
            raise BaselineError(f"{file} cannot be read: {error.strerror}{remedy}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BaselineError(f"{file} is no baseline: write one with --write-baseline") from None
        if held.get("version") != VERSION:
            raise BaselineError(f"{file} is a baseline of another version: write it anew")
        return cls(file, entries)

    def unknown(self, results: Iterable[FileResult]) -> Iterator[FileResult]:
        """The results without the findings that are agreed on."""
        for result in results:
            self._seen.add(self._name(result.path))
            kept = []
            for finding, entry in zip(result.findings, self._entries_of(result), strict=True):
                if self._left[entry] > 0:
                    self._left[entry] -= 1
                else:
                    kept.append(finding)
            yield replace(result, findings=tuple(kept))

    def stale(self) -> list[Entry]:
        """What was agreed on and is no longer found, in files that were checked or are gone."""
        return sorted(
            entry
            for entry, left in self._left.items()
            if left > 0 and (entry.path in self._seen or not (self._folder / entry.path).exists())
        )

    def replaced(self, results: Iterable[FileResult]) -> Baseline:
        """A baseline of what was found, with the entries of files that were not checked and still exist."""
        results = list(results)
        checked = {self._name(result.path) for result in results}
        entries = Counter(entry for result in results for entry in self._entries_of(result))
        for entry, count in self._entries.items():
            if entry.path not in checked and (self._folder / entry.path).exists():
                entries[entry] = count
        return Baseline(self.file, entries)

    def write(self) -> None:
        """Raises BaselineError."""
        findings: dict[str, dict[str, dict[str, int]]] = {}
        for entry in sorted(self._entries):
            scopes = findings.setdefault(entry.path, {})
            scopes.setdefault(entry.scope, {})[entry.code] = self._entries[entry]
        text = json.dumps({"version": VERSION, "findings": findings}, indent=1) + "\n"
        try:
            self.file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BaselineError(f"{self.file} cannot be written: {error.strerror}") from None

    @property
    def count(self) -> int:
        """How many findings it covers."""
        return self._entries.total()

    def _name(self, path: Path) -> str:
        return Path(os.path.relpath(path.absolute(), self._folder)).as_posix()

    def _entries_of(self, result: FileResult) -> list[Entry]:
        """An entry for each finding, in their order."""
        if not result.findings:
            return []
        scopes = _scopes(result.source)
        path = self._name(result.path)
        lines = (result.source.position(finding.span.start).line for finding in result.findings)
        return [
            Entry(path, scopes.get(line, ""), finding.code)
            for finding, line in zip(result.findings, lines, strict=True)
        ]


def _scopes(source: SourceText) -> dict[int, str]:
    """The function or class around each line that is in one, by its qualified name."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        around = innermost(list(functions_of_broken(source.text)))
        return {line: function.name for line, function in around.items()}
    scopes: dict[int, str] = {}
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, scope = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scope = f"{scope}.{node.name}" if scope else node.name
            # What is inside comes later, and takes its lines over.
            scopes.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), scope))
        pending += [(child, scope) for child in ast.iter_child_nodes(node)]
    return scopes
