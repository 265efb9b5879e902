"""A piece of source with a range underlined, as compilers print it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from warplint.report.style import Style
from warplint.source.span import Position, Span
from warplint.source.text import SourceText

CONTEXT_LINES = 2
TAB = "    "

WIDEST_LINE = 160
"""Longer lines are cut round the underlined part: a data table on one line is no help."""

LEAD = 24
"""How much of a cut line is kept before the underlined part."""

LONGEST_RANGE = 8
"""A range of more lines than this is shown with its middle left out."""

# Escape sequences in a source file must not reach the terminal.
VISIBLE = str.maketrans(
    {chr(code): chr(0x2400 + code) for code in range(0x20)}
    | dict.fromkeys(map(chr, range(0x7F, 0xA0)), "\ufffd")
    | {"\t": TAB}
)


def frame(source: SourceText, span: Span, style: Style) -> Iterator[str]:
    """The lines of a frame round ``span``, without line ends; nothing for a text without any."""
    start, end = _ends(source, span)
    shown = _shown_lines(source, start.line, end.line)
    if not shown:
        return
    margin = len(str(shown[-1]))
    rows = _underlined if start.line == end.line else _bracketed
    yield style.frame(f"{'':{margin}} |")
    for gutter, text in rows(source, start, end, shown, style):
        yield f"{style.frame(f'{gutter[:margin]:>{margin}} |')} {text}".rstrip()
    yield style.frame(f"{'':{margin}} |")


def _underlined(
    source: SourceText, start: Position, end: Position, shown: list[int], style: Style
) -> Iterator[tuple[str, str]]:
    """Gutter and text of each row for a range within one line."""
    for number in shown:
        text, cut = _cut(source.line(number), start.column - 1)
        yield str(number), text.translate(VISIBLE)
        if number == start.line:
            first, last = start.column - 1 - cut, end.column - 1 - cut
            carets = "^" * max(1, _cells(text[first:last]))
            yield "", " " * _cells(text[:first]) + style.caret(carets)


def _bracketed(
    source: SourceText, start: Position, end: Position, shown: list[int], style: Style
) -> Iterator[tuple[str, str]]:
    """Gutter and text of each row for a range over several lines, with a bar at its side."""
    previous = shown[0]
    for number in shown:
        if number > previous + 1:
            yield "...", style.caret("|")
        previous = number
        text, cut = _cut(source.line(number), start.column - 1 if number == start.line else 0)
        bar = style.caret("|") if start.line < number <= end.line else " "
        yield str(number), f"{bar} {text.translate(VISIBLE)}"
        if number == start.line:
            yield "", " " + style.caret("_" * (_cells(text[: start.column - 1 - cut]) + 1) + "^")
        elif number == end.line:
            yield "", style.caret("|" + "_" * _cells(text[: end.column - 1 - cut]) + "^")


def _ends(source: SourceText, span: Span) -> tuple[Position, Position]:
    """The positions of a range's ends; one that ends where a line begins ends on the line before."""
    start, end = source.position(span.start), source.position(span.end)
    if end.line > start.line and end.column == 1:
        end = Position(end.line - 1, len(source.line(end.line - 1)) + 1)
    return start, end


def _shown_lines(source: SourceText, first: int, last: int) -> list[int]:
    """The line numbers to show: the range, and what stands round it without blank lines at the edges."""
    numbers = list(range(max(1, first - CONTEXT_LINES), min(source.line_count, last + CONTEXT_LINES) + 1))
    while numbers and numbers[0] < first and not source.line(numbers[0]).strip():
        numbers.pop(0)
    while numbers and numbers[-1] > last and not source.line(numbers[-1]).strip():
        numbers.pop()
    if not any(source.line(number).strip() for number in numbers):
        return []
    if last - first >= LONGEST_RANGE:
        edge = LONGEST_RANGE // 2
        numbers = [number for number in numbers if number < first + edge or number > last - edge]
    return numbers


def _cut(line: str, column: int) -> tuple[str, int]:
    """The part of a long line to show round a column (from 0), and how far it is shifted to the left."""
    if len(line) <= WIDEST_LINE:
        return line, 0
    start = 0 if column < WIDEST_LINE // 2 else column - LEAD
    head, tail = "…" if start else "", "…" if start + WIDEST_LINE < len(line) else ""
    return head + line[start : start + WIDEST_LINE] + tail, start - len(head)


def _cells(text: str) -> int:
    """How many terminal columns a text takes."""
    text = text.translate(VISIBLE)
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
