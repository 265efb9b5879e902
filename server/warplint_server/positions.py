"""Character offsets to the protocol's positions and back, in the unit agreed with the client."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from warplint.source.span import Span
from warplint.source.text import SourceText

Columns = tuple[tuple[int, int], tuple[int, int]]
"""Line and column, both from 0, of a start and an end."""
ToColumns = Callable[[SourceText, int], "tuple[int, int]"]
FromColumns = Callable[[SourceText, int, int], int]


def _utf8(source: SourceText, offset: int) -> tuple[int, int]:
    line, column = _utf32(source, offset)
    prefix = source.line(line + 1)[:column]
    return line, len(prefix.encode("utf-8", "surrogatepass"))


def _utf32(source: SourceText, offset: int) -> tuple[int, int]:
    position = source.position(offset)
    return position.line - 1, position.column - 1


def _offset_utf8(source: SourceText, line: int, column: int) -> int:
    if line >= source.line_count:
        return len(source.text)
    return min(source.offset(line + 1, column), _line_end(source, line))


def _offset_utf32(source: SourceText, line: int, column: int) -> int:
    if line >= source.line_count:
        return len(source.text)
    return min(source.line_starts[line] + column, _line_end(source, line))


def _line_end(source: SourceText, line: int) -> int:
    return source.line_starts[line] + len(source.line(line + 1))


ENCODINGS: dict[str, tuple[ToColumns, FromColumns]] = {
    types.PositionEncodingKind.Utf8.value: (_utf8, _offset_utf8),
    types.PositionEncodingKind.Utf16.value: (SourceText.utf16, SourceText.offset_utf16),
    types.PositionEncodingKind.Utf32.value: (_utf32, _offset_utf32),
}


class Positions:
    """Translates between one source text's offsets and the client's positions.

    A position past the end of a line means the end of that line, and past the last line the end of the
    text, as the protocol says.
    """

    def __init__(self, encoding: str = types.PositionEncodingKind.Utf16.value) -> None:
        """``encoding`` is ``utf-8``, ``utf-16`` or ``utf-32``."""
        self._to_columns, self._from_columns = ENCODINGS[encoding]

    def column(self, source: SourceText, offset: int) -> tuple[int, int]:
        """The line and the column in it, both from 0."""
        return self._to_columns(source, offset)

    def position(self, source: SourceText, offset: int) -> types.Position:
        return types.Position(*self.column(source, offset))

    def offset(self, source: SourceText, position: types.Position) -> int:
        return self._from_columns(source, position.line, position.character)

    def columns(self, source: SourceText, span: Span) -> Columns:
        return self.column(source, span.start), self.column(source, span.end)

    def range(self, source: SourceText, span: Span) -> types.Range:
        return types.Range(self.position(source, span.start), self.position(source, span.end))

    def span(self, source: SourceText, where: types.Range) -> Span:
        """The range in offsets; a range that ends before it starts is taken as empty at its start."""
        start = self.offset(source, where.start)
        return Span(start, max(start, self.offset(source, where.end)))
