"""Places in a source text."""

from __future__ import annotations

from warplint.source.records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range ``[start, end)`` of character offsets into one source text.

    The one range type of the project. ``SourceText`` turns it into what each consumer counts in: ast's
    UTF-8 bytes, a terminal's characters, an editor's UTF-16 units.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a range: [{self.start}, {self.end})")

    def contains(self, offset: int) -> bool:
        return self.start <= offset < self.end

    def overlaps(self, other: Span) -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place as people read it: ``line`` and ``column`` from 1, the column in characters."""

    line: int
    column: int
