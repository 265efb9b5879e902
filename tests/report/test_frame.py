"""Source frames, drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warplint.report.frame import WIDEST_LINE, frame
from warplint.report.style import Style
from warplint.source.span import Span
from warplint.source.text import SourceText

DRAWN = {
    "a range within a line": (
        "a\n\nb = «f(x)»\n\nc\nd\n",
        """
          |
        1 | a
        2 |
        3 | b = f(x)
          |     ^^^^
        4 |
        5 | c
          |
        """,
    ),
    "blank lines at the edges are left out": (
        "\n\n«a»\n\n\nb",
        """
          |
        3 | a
          | ^
          |
        """,
    ),
    "tabs count as they are shown": (
        "if a:\n\tb = «f(\tx)»\r\n",
        """
          |
        1 | if a:
        2 |     b = f(    x)
          |         ^^^^^^^^
          |
        """,
    ),
    "wide characters take two columns, combining ones none": (
        "x = '中文e\u0301'; «f('中')»\n",
        """
          |
        1 | x = '中文e\u0301'; f('中')
          |              ^^^^^^^
          |
        """,
    ),
    "escape sequences are made visible": (
        "x = '\x1b[31m\x7f'; «y»\n",
        """
          |
        1 | x = '␛[31m\N{REPLACEMENT CHARACTER}'; y
          |               ^
          |
        """,
    ),
    "a range over lines": (
        "a\nx = «f(\n    1,\n)»\nb\n",
        """
          |
        1 |   a
        2 |   x = f(
          |  _____^
        3 | |     1,
        4 | | )
          | |_^
        5 |   b
          |
        """,
    ),
    "the middle of a long range is left out": (
        "«f(\n" + "".join(f"    {number},\n" for number in range(98)) + ")»\n",
        """
            |
          1 |   f(
            |  _^
          2 | |     0,
          3 | |     1,
          4 | |     2,
        ... | |
         97 | |     95,
         98 | |     96,
         99 | |     97,
        100 | | )
            | |_^
            |
        """,
    ),
    "an empty range has one caret": (
        "a\nb«»",
        """
          |
        1 | a
        2 | b
          |  ^
          |
        """,
    ),
}


def draw(marked: str, style: Style | None = None) -> list[str]:
    span = Span(marked.index("«"), marked.index("»") - 1)
    source = SourceText(marked.replace("«", "").replace("»", ""), Path("x.py"))
    return list(frame(source, span, style or Style()))


@pytest.mark.parametrize(("marked", "picture"), DRAWN.values(), ids=DRAWN)
def test_a_frame(marked: str, picture: str) -> None:
    assert draw(marked) == _block(picture)


def _block(picture: str) -> list[str]:
    """The picture's lines without the indentation it has in this file."""
    return [line[8:] for line in picture.strip("\n").split("\n")[:-1]]


@pytest.mark.parametrize("before", [0, 50, 100, 5_000])
def test_a_very_long_line_is_cut_round_the_range(before: int) -> None:
    rows = draw("x = [" + "1, " * before + "«f(x)», " + "2, " * 5_000 + "]\n")
    source, carets = rows[1], rows[2]
    assert len(source) <= WIDEST_LINE + len("1 | ……")
    assert source[carets.index("^") : carets.rindex("^") + 1] == "f(x)"


def test_a_text_without_any_has_no_frame() -> None:
    assert draw("«»") == []
    assert draw("\n \n«»\n") == []


def test_colour_adds_only_escape_codes() -> None:
    for marked, _ in DRAWN.values():
        colored = draw(marked, Style(color=True))
        assert any("\033[" in line for line in colored)
        assert [re.sub(r"\033\[[0-9;]*m", "", line).rstrip() for line in colored] == draw(marked)
