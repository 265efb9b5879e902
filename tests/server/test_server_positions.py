"""Offsets and the client's positions, in each unit a client may count in."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint_server.positions import ENCODINGS, Positions

TEXT = "plain\r\nä🧠b\rc\x0cd\n\n🧠"
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
LINES = ["plain", "ä🧠b", "c\x0cd", "", "🧠"]
LINE_STARTS = [0, 7, 11, 15, 16]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_place_in_a_text_goes_there_and_back(encoding: str) -> None:
    source, positions = SourceText(TEXT, Path("x.py")), Positions(encoding)
    codec, unit_bytes = CODECS[encoding]
    for number, (line, start) in enumerate(zip(LINES, LINE_STARTS, strict=True)):
        for column in range(len(line) + 1):
            units = len(line[:column].encode(codec)) // unit_bytes
            position = types.Position(number, units)
            assert positions.position(source, start + column) == position
            assert positions.offset(source, position) == start + column


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_past_the_end_means_the_end(encoding: str) -> None:
    source, positions = SourceText(TEXT, Path("x.py")), Positions(encoding)
    assert positions.offset(source, types.Position(0, 99)) == len("plain")
    assert positions.offset(source, types.Position(3, 1)) == 15
    assert positions.offset(source, types.Position(99, 0)) == len(TEXT)
    assert positions.offset(SourceText("", Path("x.py")), types.Position(0, 5)) == 0


def test_a_range_that_ends_before_it_starts_is_empty() -> None:
    source = SourceText(TEXT, Path("x.py"))
    backwards = types.Range(types.Position(1, 1), types.Position(0, 0))
    assert Positions().span(source, backwards) == Span(8, 8)
