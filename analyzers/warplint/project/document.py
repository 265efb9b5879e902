"""What a file holds: a Python text as it stands, or the cells of a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from warplint.project.result import FileResult
from warplint.source.records import replace
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Finding, Related

NOTEBOOK = ".ipynb"


class Document(Protocol):
    """``code`` is the text to analyse; results about it, or a changed version of it, count in its places."""

    @property
    def code(self) -> SourceText: ...

    def encode(self, text: str) -> bytes:
        """The file's bytes when ``code`` reads like this. Raises SourceError."""
        ...

    def shown(self, text: str) -> tuple[SourceText, tuple[tuple[int, int], ...]]:
        """A version of ``code`` as people know it, with the same lines, and where cells start in it."""
        ...

    def faults(self, text: str) -> list[tuple[Span, str]]:
        """Parts that had to be left out of ``code``: where in a version of it, and why."""
        ...


class PlainDocument:
    """A Python file."""

    def __init__(self, data: bytes, path: Path) -> None:
        """Raises SourceError."""
        self.code = SourceText.decode(data, path)

    def encode(self, text: str) -> bytes:
        return self.code.encode(text)

    def shown(self, text: str) -> tuple[SourceText, tuple[tuple[int, int], ...]]:
        same = text == self.code.text
        return self.code if same else SourceText(text, self.code.path, self.code.encoding), ()

    def faults(self, text: str) -> list[tuple[Span, str]]:
        return []


def document(data: bytes, path: Path) -> Document:
    """Read a file's bytes. Raises SourceError when they are no source."""
    if path.suffix != NOTEBOOK:
        return PlainDocument(data, path)
    # Imported here because most runs meet no notebook.
    from warplint.project.notebook import Notebook

    return Notebook(data, path)


def presented(document: Document, result: FileResult) -> FileResult:
    """A result about ``code``, or a version of it, as one about what people see."""
    source, cells = document.shown(result.source.text)
    original = None if result.original is None else document.shown(result.original.text)[0]
    if not cells:
        return replace(result, source=source, original=original)
    move = _Move(result.source, source)
    return replace(
        result,
        source=source,
        cells=cells,
        original=original,
        findings=tuple(map(move.finding, result.findings)),
        notices=tuple(replace(notice, span=move.span(notice.span)) for notice in result.notices),
    )


class _Move:
    """From the places of one text to the same lines and columns in another."""

    def __init__(self, old: SourceText, new: SourceText) -> None:
        self._old = old
        self._new = new

    def span(self, span: Span) -> Span:
        return Span(self._offset(span.start), self._offset(span.end))

    def finding(self, finding: Finding) -> Finding:
        related = tuple(Related(self.span(each.span), each.message) for each in finding.related)
        return replace(finding, span=self.span(finding.span), related=related)

    def _offset(self, offset: int) -> int:
        place = self._old.position(offset)
        start = self._new.line_starts[place.line - 1]
        shown = self._new.line(place.line)
        is_masked = self._old.line(place.line) != shown
        # What is said of a masked line is said of all of it.
        return start + (len(shown) if is_masked and place.column > 1 else place.column - 1)
