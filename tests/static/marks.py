"""Asking the engine about a marked place: ``look("x = «torch.zeros(3)»")``."""

from __future__ import annotations

import ast
from pathlib import Path

from warplint.source.text import SourceText
from warplint.static.facts import Facts
from warplint.static.inference.knowledge import Knowledge
from warplint.static.parsing.chunks import split
from warplint.static.structure.index import Index
from warplint.static.values import Kind, Place

HEADER = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
"""


def facts_of(text: str) -> Facts:
    source = SourceText(text, Path("program.py"))
    return Facts(source, Knowledge(Index(split(text, source.line_starts, {}))))


def look(marked: str, header: str = HEADER) -> tuple[Facts, ast.expr]:
    """The facts about a text and the expression that its one pair of marks encloses."""
    marked = header + marked
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    source = SourceText(text, Path("program.py"))
    chunks = split(text, source.line_starts, {})
    facts = Facts(source, Knowledge(Index(chunks)))
    for placed in chunks:
        for node in ast.walk(placed.chunk.tree):
            if isinstance(node, ast.expr):
                span = facts.span(node)
                if (span.start, span.end) == (start, end):
                    return facts, node
    raise AssertionError(f"no expression is exactly what the marks enclose in {marked!r}")


def kind_and_place(marked: str) -> str:
    """``tensor cpu``, ``tensor likely``, ``number``: what the marked expression is and where."""
    facts, node = look(marked)
    value = facts.value(node)
    places = {
        Place.UNKNOWN: "",
        Place.CPU: " cpu",
        Place.ACCELERATOR: " gpu",
        Place.LIKELY_ACCELERATOR: " likely",
    }
    placed = value.kind in {Kind.TENSOR, Kind.DEVICE, Kind.MODULE}
    return value.kind.value + (places[value.place] if placed else "")
