"""One open document: its text as the editor has it, and the last results for it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Finding
from warplint_server.positions import Positions
from warplint_server.settings import Settings
from warplint_server.workspace import Measured, Project

if TYPE_CHECKING:
    from warplint.advice.measured.join import Joined
    from warplint.advice.score.file_score import Score
    from warplint.project.engine import Checked
    from warplint.static.rules.rule import Rule

KEYSTROKE_S = 0.1
"""The time between two keystrokes of a fast typist."""
LONGEST_PAUSE_S = 0.3
"""How long a pause in typing need be at most, however long looking at the text takes."""
LONGEST_PAUSES = 4
"""How long one is waited for, in such pauses: someone who never stops gets results too."""

UNTITLED = "untitled:"
PYTHON_SUFFIXES = frozenset({".py", ".pyi", ".pyw"})


@dataclass(frozen=True, slots=True)
class Results:
    """What the engine said of one text. No two of a session have the same ``number``.

    ``joined`` are its findings with what was measured of them, and those that measuring alone made; empty
    without a capture. ``took_s`` is how much processor time that took, starting from
    earlier results; 0 for a document's first.
    """

    number: int
    source: SourceText
    project: Project
    generation: int
    checked: Checked
    measured: Measured
    took_s: float = 0.0
    joined: tuple[Joined, ...] = ()

    @property
    def told(self) -> list[tuple[Finding, Finding]]:
        """Each finding, and the same with what was measured of it."""
        if not self.joined:
            return [(finding, finding) for finding in self.checked.findings]
        return [(each.finding, each.told) for each in self.joined]

    def told_in(self, span: Span) -> list[tuple[Finding, Finding]]:
        """Those that a selection touches."""
        return [pair for pair in self.told if _touches(pair[0], span)]

    def hold_for(self, source: SourceText) -> bool:
        """Whether these are still what there is to say of ``source``."""
        return self.source is source and self.generation == self.project.generation

    def findings_in(self, span: Span) -> list[Finding]:
        """The findings that a selection touches; an empty one is a cursor, and may stand at their end."""
        return [finding for finding in self.checked.findings if _touches(finding, span)]

    def rule(self, finding: Finding) -> Rule | None:
        """The rule that made a finding; None for those of the engine itself."""
        site = self.checked.analysis.sites.get(finding)
        return site.rule if site is not None else None


def _touches(finding: Finding, span: Span) -> bool:
    return finding.span.start <= span.end and span.start <= finding.span.end


class Document:
    """An open Python file. ``version`` and ``source`` are the editor's; ``results`` may be of older text.

    ``edited_s`` is when its text was last edited, on the event loop's clock; ``looks_s`` is how long the last
    two looks at it took.
    """

    def __init__(self, uri: str, path: Path, version: int, text: str, settings: Settings) -> None:
        self.uri = uri
        self.version = version
        self.source = SourceText(text, path)
        self.settings = settings
        self.edited_s = -math.inf
        self.looks_s = (0.0, 0.0)
        self.results: Results | None = None
        self.scored: tuple[Results, Score | None] | None = None
        """Results that a score was asked of, and the score."""
        self.analysis: asyncio.Task[None] | None = None
        self.is_outdated = False
        """Whether something else than the text has changed since it was last looked at."""

    @property
    def path(self) -> Path:
        return self.source.path

    @property
    def parts(self) -> list[tuple[str, int]]:
        """What the editor knows this by: URIs, each with its version. A notebook has one for each cell."""
        return [(self.uri, self.version)]

    def change(
        self, changes: Sequence[types.TextDocumentContentChangeEvent], version: int, positions: Positions
    ) -> None:
        """Take over the editor's changes, each of which counts in the text that the one before it left."""
        for change in changes:
            self.source = SourceText(changed(self.source, change, positions), self.path)
        self.version = version

    @property
    def pause_s(self) -> float:
        """How long after an edit the text is looked at.

        Where that takes longer than the next keystroke takes to come, it would be in vain, again and again,
        and keep the machine busy meanwhile. Once may be chance: the shorter of the last two looks counts.
        """
        took_s = min(self.looks_s)
        return min(took_s, LONGEST_PAUSE_S) if took_s > KEYSTROKE_S else 0.0

    def current(self) -> Results | None:
        """The results, if they are of the text as it is now and nothing else has changed since."""
        results = self.results
        if results is None or self.is_outdated or not results.hold_for(self.source):
            return None
        return results


def python_path(item: types.TextDocumentItem, folder: Path) -> Path | None:
    """The path of a document that is a Python file on this machine; None for any other.

    Remote files have other schemes than ``file``. A buffer that has not been saved is one of ``folder``.
    """
    if item.uri.startswith(UNTITLED) and item.language_id == "python":
        return folder / f"{PurePosixPath(item.uri.removeprefix(UNTITLED)).name}.py"
    path = to_fs_path(item.uri)
    if not path:
        return None
    if item.language_id != "python" and Path(path).suffix not in PYTHON_SUFFIXES:
        return None
    return Path(path)


def changed(source: SourceText, change: types.TextDocumentContentChangeEvent, positions: Positions) -> str:
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return change.text
    span = positions.span(source, change.range)
    return source.text[: span.start] + change.text + source.text[span.end :]
