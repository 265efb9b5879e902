"""The sections ``graph_breaks`` and ``recompilations``: what keeps torch.compile from compiling once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warplint.profile.raw.compiled import RawEvent
from warplint.profile.root_relative import root_relative


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A line at which compilation broke off, so that Python runs between two compiled parts."""

    file: str
    line: int
    reason: str
    count: int
    """How often compilation broke there in the whole run; the break itself happens in every step."""


@dataclass(frozen=True, slots=True)
class Recompilation:
    """A function that was compiled again, since something it was compiled for had changed."""

    file: str
    line: int
    """Where the function begins, or the part of it after a graph break."""
    reason: str
    """The guard that failed."""
    count: int


def graph_breaks(events: Iterable[RawEvent], root: str) -> list[GraphBreak]:
    return [GraphBreak(*_fields(event, root)) for event in _by_place(events)]


def recompilations(events: Iterable[RawEvent], root: str) -> list[Recompilation]:
    return [Recompilation(*_fields(event, root)) for event in _by_place(events)]


def _fields(event: RawEvent, root: str) -> tuple[str, int, str, int]:
    return root_relative(event.file, root), event.line, event.reason, event.count


def _by_place(events: Iterable[RawEvent]) -> list[RawEvent]:
    return sorted(events, key=lambda event: (event.file, event.line, event.reason))
