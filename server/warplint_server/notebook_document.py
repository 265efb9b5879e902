"""One open notebook: its Python cells are checked as one program, and each is told of what is found in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from warplint.project.notebook import CELL_MARK, Notebook
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint_server.document import Document, changed
from warplint_server.positions import Positions
from warplint_server.settings import Settings


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell as the editor has it."""

    uri: str
    version: int
    source: SourceText


@dataclass(frozen=True, slots=True)
class Part:
    """Where a cell stands in the text of all: its lines, from 0, the last one included."""

    uri: str
    version: int
    first: int
    last: int


class NotebookText(SourceText):
    """The cells below each other, as the engine reads them: what is no Python is masked."""

    def __init__(self, cells: Sequence[Cell], path: Path) -> None:
        held = [{"cell_type": "code", "source": cell.source.text} for cell in cells]
        notebook = Notebook(json.dumps({"cells": held, "metadata": {}}).encode(), path)
        super().__init__(notebook.code.text, path)
        self.faults: Sequence[tuple[Span, str]] = notebook.faults(notebook.code.text)
        self.parts: Mapping[str, Part] = {part.uri: part for part in self._parts(cells)}

    def _parts(self, cells: Sequence[Cell]) -> Iterator[Part]:
        marks = [number for number, line in enumerate(self.lines()) if CELL_MARK.fullmatch(line)]
        ends = [*marks[1:], self.line_count]
        for cell, mark, end in zip(cells, marks, ends, strict=True):
            yield Part(cell.uri, cell.version, mark + 1, end - 1)

    def part_at(self, offset: int) -> Part:
        """The cell of a place; what stands above the first cell belongs to that."""
        line = self.position(offset).line - 1
        parts = list(self.parts.values())
        return next((part for part in parts if line <= part.last), parts[-1])


class PartPositions(Positions):
    """Positions that count in a cell, for offsets in the text of all."""

    def __init__(self, positions: Positions, part: Part) -> None:
        self._positions = positions
        self._part = part

    def column(self, source: SourceText, offset: int) -> tuple[int, int]:
        line, character = self._positions.column(source, offset)
        return (line - self._part.first, character) if line >= self._part.first else (0, 0)

    def offset(self, source: SourceText, position: types.Position) -> int:
        line = min(self._part.first + position.line, self._part.last)
        return self._positions.offset(source, types.Position(line, position.character))


class NotebookDocument(Document):
    """An open notebook. ``version`` is its own; each cell has another."""

    def __init__(
        self, uri: str, path: Path, version: int, cells: Sequence[types.TextDocumentItem], settings: Settings
    ) -> None:
        self._path = path
        self._cells = [self._cell(item) for item in cells]
        super().__init__(uri, path, version, "", settings)
        self._join()

    @property
    def parts(self) -> list[tuple[str, int]]:
        return [(cell.uri, cell.version) for cell in self._cells]

    def change_cells(
        self,
        version: int,
        changes: types.NotebookDocumentCellChanges,
        positions: Positions,
    ) -> list[str]:
        """Take over the editor's changes; the URIs of cells that are gone."""
        before = {uri for uri, _ in self.parts}
        if changes.structure is not None:
            self._restructure(changes.structure)
        for content in changes.text_content or ():
            self._cells = [_edited(cell, content, positions) for cell in self._cells]
        self.version = version
        self._join()
        return sorted(before - {uri for uri, _ in self.parts})

    def _restructure(self, structure: types.NotebookDocumentCellChangeStructure) -> None:
        opened = {item.uri: self._cell(item) for item in structure.did_open or ()}
        known = {**{cell.uri: cell for cell in self._cells}, **opened}
        array = structure.array
        come = [known[cell.document] for cell in array.cells or () if cell.document in known]
        self._cells[array.start : array.start + array.delete_count] = come

    def _cell(self, item: types.TextDocumentItem) -> Cell:
        return Cell(item.uri, item.version, SourceText(item.text, self._path))

    def _join(self) -> None:
        self.source = NotebookText(self._cells, self._path)


def _edited(cell: Cell, content: types.NotebookDocumentCellContentChanges, positions: Positions) -> Cell:
    if content.document.uri != cell.uri:
        return cell
    source = cell.source
    for change in content.changes:
        source = SourceText(changed(source, change, positions), source.path)
    return Cell(cell.uri, content.document.version, source)
