"""A small project on the disk, and what the engine makes of a marked place in one of its files."""

from __future__ import annotations

import ast
from pathlib import Path

from warplint.project.imports import ProjectFiles
from warplint.source.text import SourceText
from warplint.static.facts import Facts
from warplint.static.inference.abroad import Abroad
from warplint.static.inference.knowledge import Knowledge
from warplint.static.parsing.chunks import split
from warplint.static.structure.index import Index
from warplint.static.values import Kind, Place, Value

PLACES = {
    Place.UNKNOWN: "",
    Place.CPU: " cpu",
    Place.ACCELERATOR: " gpu",
    Place.LIKELY_ACCELERATOR: " likely",
}


def write(root: Path, files: dict[str, str]) -> None:
    (root / "pyproject.toml").touch()
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def look(path: Path, marked: str, others: Abroad | None = None) -> tuple[Facts, ast.expr]:
    """The facts about a text that stands at a path, and the expression that its one pair of marks encloses.

    One that stands alone is bound to a name: where a result goes nowhere, no function is followed for it.
    """
    marked = marked.replace("\n«", "\nheld = «")
    start, end = marked.index("«"), marked.index("»") - 1
    source = SourceText(marked.replace("«", "").replace("»", ""), path)
    chunks = split(source.text, source.line_starts, {})
    view = (others or Abroad(ProjectFiles())).seen_from(path)
    facts = Facts(source, Knowledge(Index(chunks, view.class_role), view))
    for placed in chunks:
        for node in ast.walk(placed.chunk.tree):
            if isinstance(node, ast.expr):
                span = facts.span(node)
                if (span.start, span.end) == (start, end):
                    return facts, node
    raise AssertionError(f"no expression is exactly what the marks enclose in {marked!r}")


def value(path: Path, marked: str, others: Abroad | None = None) -> Value:
    facts, node = look(path, marked, others)
    return facts.value(node)


def described(found: Value) -> str:
    """``tensor cpu``, ``module``, ``number``."""
    placed = found.kind in {Kind.TENSOR, Kind.DEVICE}
    return found.kind.value + (PLACES[found.place] if placed else "")
