"""Jupyter notebooks as one Python text, and changes to that text back in their cells.

Cells stand one below the other, each under a comment that marks it. Lines that are IPython's and not Python's
are a ``pass`` with a mark; so are comments in a cell that is no Python at all. Marks are characters for
private use, which no one types: whatever a fix does to the text, each line is found again.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from warplint.source.records import dataclass
from warplint.source.span import Span
from warplint.source.text import LINE_END, SURROGATE, SourceError, SourceText

CELL, LINE = "\ue000", "\ue001"
CELL_MARK = re.compile(rf"# {CELL}(\d+)")
LINE_MARK = re.compile(rf"[ \t]*(?:pass  )?# {LINE}(\d+)")

IPYTHON_LINE = re.compile(r"\s*[%!?]|.*\?\s*\Z|[\w\s,.*]+=\s*[%!]")
"""Magics, shell commands and questions, also where their result is assigned."""

PYTHON_CELL_MAGICS = re.compile(r"%%(?:time|timeit|capture|prun|memit|mprun|python3?)\b")
"""Cell magics under which the rest of the cell is Python."""

BLANKS = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Broken:
    """A cell that cannot be parsed: the number of its masked line at fault, and why."""

    masked: int
    message: str


@dataclass(frozen=True, slots=True)
class _Cell:
    """A code cell: its number among all cells, from 1, its source, and where that stands in the JSON."""

    number: int
    source: str
    start: int
    end: int


class Notebook:
    """One notebook. ``code`` is what is analysed; ``broken`` are cells that were left out of it."""

    def __init__(self, data: bytes, path: Path) -> None:
        """Raises SourceError for bytes that are no notebook."""
        self._json = _decoded(data)
        self._cells = _code_cells(self._json)
        self._masked: list[str] = []
        self.broken: list[Broken] = []
        joined = "".join(f"# {CELL}{cell.number}\n{self._python(cell.source)}" for cell in self._cells)
        self.code = SourceText(joined.removesuffix("\n"), path)

    def shown(self, text: str) -> tuple[SourceText, tuple[tuple[int, int], ...]]:
        """A version of ``code`` as people know it, line for line, and where its cells start.

        Each start is the line before a cell's first, and the cell's number.
        """
        lines = [self._original(line) for line in with_ends(text)]
        starts = []
        for number, line in enumerate(lines, 1):
            if mark := CELL_MARK.match(line):
                starts.append((number, int(mark[1])))
                lines[number - 1] = f"# cell {mark[1]}{line[mark.end() :]}"
        # JSON can hold half a character, which no terminal or file can show.
        whole = SURROGATE.sub("\ufffd", "".join(lines))
        return SourceText(whole, self.code.path), tuple(starts)

    def faults(self, text: str) -> list[tuple[Span, str]]:
        """The cells that cannot be parsed: where in a version of ``code``, and why."""
        places: dict[int, Span] = {}
        start = 0
        for line in with_ends(text):
            if mark := LINE_MARK.match(line):
                places[int(mark[1])] = Span(start, start + mark.end())
            start += len(line)
        return [(places[fault.masked], fault.message) for fault in self.broken]

    def encode(self, text: str) -> bytes:
        """The notebook's bytes with its cells as in a version of ``code``; all else is as it was."""
        sources = self._sources(text)
        pieces: list[str] = []
        end = 0
        for cell in self._cells:
            if sources[cell.number] != cell.source:
                pieces += self._json[end : cell.start], self._rewritten(cell, sources[cell.number])
                end = cell.end
        return "".join([*pieces, self._json[end:]]).encode()

    def _python(self, source: str) -> str:
        """A cell's source, and a line feed of ours, with those lines masked that are not Python."""
        lines = with_ends(f"{source}\n")[:-1]
        magic = next((number for number, line in enumerate(lines) if line.strip()), 0)
        if lines[magic].startswith("%%"):
            if not PYTHON_CELL_MAGICS.match(lines[magic]):
                return "".join(map(self._comment, lines))
            lines[magic] = self._statement(lines[magic])
        while (error := _error("".join(lines))) is not None:
            number = min(error.lineno or 1, len(lines)) - 1
            if not IPYTHON_LINE.match(lines[number]):
                self.broken.append(Broken(len(self._masked) + number, error.msg))
                return "".join(self._comment(self._original(line)) for line in lines)
            # A command goes on in the next line after a backslash.
            goes_on = _goes_on(lines[number])
            lines[number] = self._statement(lines[number])
            while goes_on and number + 1 < len(lines):
                number += 1
                goes_on = _goes_on(lines[number])
                lines[number] = self._comment(lines[number])
        return "".join(lines)

    def _statement(self, line: str) -> str:
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        return f"{indent}pass  {self._comment(line)}"

    def _comment(self, line: str) -> str:
        content = line.rstrip("\r\n")
        self._masked.append(content)
        return f"# {LINE}{len(self._masked) - 1}{line[len(content) :]}"

    def _original(self, line: str) -> str:
        mark = LINE_MARK.match(line)
        return self._masked[int(mark[1])] + line[mark.end() :] if mark else line

    def _sources(self, text: str) -> dict[int, str]:
        """The source of each cell in a version of ``code``."""
        held: dict[int, list[str]] = {}
        above: list[str] = []
        current = above
        for line in with_ends(f"{text}\n"):
            mark = CELL_MARK.match(line)
            if mark is None:
                current.append(self._original(line))
            else:
                # What a fix put above the first cell belongs to it.
                current = held[int(mark[1])] = [] if held else above
        return {number: "".join(lines).removesuffix("\n") for number, lines in held.items()}

    def _rewritten(self, cell: _Cell, source: str) -> str:
        """A source as JSON, laid out as the one before it: only lines that changed are written anew."""
        before = self._json[cell.start : cell.end]
        if not before.startswith("["):
            return self._string(source)
        lines = _lines(source)
        items = list(_items(before, 0))
        if [held for held, _, _ in items] != _lines(cell.source):
            # Not a line an item, as Jupyter has it: there is no layout to keep.
            lines = [source]
        if len(items) == len(lines):
            pieces: list[str] = []
            end = 0
            for (held, start, stop), line in zip(items, lines, strict=True):
                pieces += before[end:start], before[start:stop] if held == line else self._string(line)
                end = stop
            return "".join([*pieces, before[end:]])
        lead, tail = before[1 : items[0][1]], before[items[-1][2] :]
        between = before[items[0][2] : items[1][1]] if len(items) > 1 else f",{lead or ' '}"
        return f"[{lead}{between.join(map(self._string, lines))}{tail}"

    def _string(self, text: str) -> str:
        escaped = self._json.isascii() and "\\u" in self._json
        return json.dumps(text, ensure_ascii=escaped)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"the byte 0x{data[error.start]:02x} is not utf-8", error.start) from None


def _code_cells(text: str) -> list[_Cell]:
    """The code cells of a Python notebook. Raises SourceError for what is no notebook."""
    try:
        notebook, _ = json.JSONDecoder().raw_decode(text, _start(text))
    except ValueError as error:
        place = getattr(error, "pos", 0)
        reason = f"the notebook is not valid JSON: {getattr(error, 'msg', error)}"
        raise SourceError(reason, len(text[:place].encode())) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise SourceError("the notebook has no cells (only format 4 is read)")
    return list(_found_cells(text)) if _is_python(notebook.get("metadata")) else []


def _found_cells(text: str) -> Iterator[_Cell]:
    cells = next(start for name, _, start, _ in _members(text, _start(text)) if name == "cells")
    for number, (cell, at, _) in enumerate(_items(text, cells), 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        for name, value, start, end in _members(text, at):
            lines = [value] if isinstance(value, str) else value
            if name == "source" and isinstance(lines, list) and all(isinstance(line, str) for line in lines):
                yield _Cell(number, "".join(lines), start, end)


def _is_python(metadata: object) -> bool:
    """Whether a notebook's kernel runs Python; one that does not say so does."""
    if not isinstance(metadata, dict):
        return True
    named = [(metadata.get("kernelspec"), "language"), (metadata.get("language_info"), "name")]
    languages = [held.get(key) for held, key in named if isinstance(held, dict) and held.get(key)]
    return not languages or languages[0] == "python"


def with_ends(text: str) -> list[str]:
    """The lines of a text as Python counts them, each with its end; the last one has none."""
    ends = [match.end() for match in LINE_END.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def _goes_on(line: str) -> bool:
    return line.rstrip("\r\n").endswith("\\")


def _lines(source: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def _start(text: str) -> int:
    return _after_blanks(text, 1 if text.startswith("\ufeff") else 0)


def _members(text: str, at: int) -> Iterator[tuple[object, object, int, int]]:
    """The names of a valid JSON object at ``at``, each with its value and where that starts and ends."""
    at = _after_blanks(text, at + 1)
    while text[at] != "}":
        name, at = json.JSONDecoder().raw_decode(text, at)
        start = _after_blanks(text, _after_blanks(text, at) + 1)
        value, end = json.JSONDecoder().raw_decode(text, start)
        yield name, value, start, end
        at = _next(text, end)


def _items(text: str, at: int) -> Iterator[tuple[object, int, int]]:
    """The items of a valid JSON array at ``at``, each with where it starts and ends."""
    start = _after_blanks(text, at + 1)
    while text[start] != "]":
        value, end = json.JSONDecoder().raw_decode(text, start)
        yield value, start, end
        start = _next(text, end)


def _next(text: str, at: int) -> int:
    """The start of what follows a member or an item: the next, or the closing bracket."""
    at = _after_blanks(text, at)
    return _after_blanks(text, at + 1) if text[at] == "," else at


def _after_blanks(text: str, at: int) -> int:
    match = BLANKS.match(text, at)
    return match.end() if match else at


def _error(text: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error
    except UnicodeEncodeError:
        return SyntaxError("a character is cut in half")
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or "nested too deeply to be parsed")
    return None
