"""SourceText against what CPython reads, and against what an editor counts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from warplint.source.span import Position, Span
from warplint.source.text import SourceError, SourceText

PATH = Path("module.py")


def text(content: str) -> SourceText:
    return SourceText(content, PATH)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x = 1\r\ny = 2\n",
        b"\xef\xbb\xbfx = '\xc3\xa9'\n",
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
        b"\xef\xbb\xbf# coding: utf-8\nx = 1\r",
        "x = '\N{GRINNING FACE}\u2028'\n\x0cy = 1".encode(),
    ],
)
def test_bytes_come_back_as_they_were(data: bytes) -> None:
    assert SourceText.decode(data, PATH).encode() == data


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert SourceText.decode(b"\xef\xbb\xbfx = 1", PATH).text == "x = 1"


def test_the_cookie_of_the_second_line_decides() -> None:
    assert SourceText.decode(b"#!/usr/bin/python\n# coding: latin-1\n'\xe9'", PATH).text.endswith("'é'")


@pytest.mark.parametrize(
    ("data", "offset", "reason"),
    [
        (b"x = 1\ny = '\0'\n", 11, "NUL"),
        (b"x = 1\ny = '\xff'\n", 11, "0xff is not utf-8"),
        (b"x = '\xff'\n", 5, "it is not UTF-8: save it so, or name its encoding in the first line"),
        (b"# coding: future_fstrings\nx = 1\n", 0, "unknown encoding: future_fstrings"),
        (b"# coding: rot13\nk = 1\n", 0, "rot13"),
        (b"# coding: undefined\n", 0, "undefined"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 0, "encoding problem"),
        (b"\xff\xfex\0 \0=\0 \x001\0", 3, "NUL"),
        (b"# coding: unicode_escape\nx = '\\ud800'\n", 0, "unicode_escape"),
        (b"# coding: unicode_escape\nx = '\\0'\n", 0, "unicode_escape"),
    ],
)
def test_bytes_that_are_no_source_are_refused_with_their_place(data: bytes, offset: int, reason: str) -> None:
    with pytest.raises(SourceError, match=reason) as caught:
        SourceText.decode(data, PATH)
    assert caught.value.offset == offset
    with pytest.raises((SyntaxError, ValueError, LookupError)):
        compile(data, "module.py", "exec")


def test_a_character_the_encoding_lacks_is_not_written() -> None:
    source = SourceText.decode(b"# coding: latin-1\n", PATH)
    with pytest.raises(SourceError, match=r"'\\u4e2d' cannot be written in iso8859-1"):
        source.encode("中")


def test_lines_end_where_python_ends_them() -> None:
    content = "a\rb\r\nc\x0cd\u2028e\x85f\x1cg\vh\n"
    source = text(content)
    assert source.lines() == ["a", "b", "c\x0cd\u2028e\x85f\x1cg\vh", ""]
    assert [source.line(number) for number in range(1, 5)] == source.lines()
    assert source.line_count == 4
    assert len(ast.parse("1\r2\r\n3\n").body) == 3


@pytest.mark.parametrize(
    "content",
    [
        "value = f(x)\n",
        "naïve = f(x)\n",
        "s = '\N{GRINNING FACE}中é'; value = f(x)\n",
        "if 1:\n\tvalue = (\n\t\tf(\tx)\n\t)\r\n",
        "\x0cvalue = 'a\u2028b'.f(x)\r",
        "x = '''\né\r\n'''; f(x)",
    ],
)
def test_spans_cover_what_ast_says_they_cover(content: str) -> None:
    source = text(content)
    calls = [node for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Call)]
    for call in calls:
        span = source.span(call)
        assert source.text[span.start : span.end].endswith("x)")
        assert ast.dump(ast.parse(f"({source.text[span.start : span.end]})", mode="eval").body) == ast.dump(
            call
        )


def test_positions_count_characters_from_one() -> None:
    source = text("a\n\N{GRINNING FACE}b\r\n")
    assert source.position(0) == Position(1, 1)
    assert source.position(3) == Position(2, 2)
    assert source.position(len(source.text)) == Position(3, 1)


def test_utf16_columns_count_astral_characters_twice() -> None:
    source = text("x\n'\N{GRINNING FACE}' + é\n")
    offset = source.text.index("+")
    assert source.utf16(offset) == (1, 5)
    line = source.line(2)
    assert line.encode("utf-16-le")[2 * 5 : 2 * 6].decode("utf-16-le") == "+"


@pytest.mark.parametrize("content", ["", "a", "a\n", "\N{GRINNING FACE}\r\nb\rc\u2028\n", "é\n\n\n"])
def test_utf16_positions_lead_back(content: str) -> None:
    source = text(content)
    for offset in range(len(content) + 1):
        line, column = source.utf16(offset)
        inside_line_end = column > len(source.line(line + 1).encode("utf-16-le")) // 2
        expected = source.line_starts[line] + len(source.line(line + 1)) if inside_line_end else offset
        assert source.offset_utf16(line, column) == expected


def test_utf16_positions_past_the_end_mean_the_end() -> None:
    source = text("ab\ncd")
    assert source.offset_utf16(0, 99) == 2
    assert source.offset_utf16(9, 0) == 5


def test_lone_surrogates_from_an_editor_do_not_raise() -> None:
    source = text("x = '\ud800é' + y\n")
    assert source.offset(1, 0) == 0
    assert 5 <= source.offset(1, 9) <= len(source.text)
    assert len(source.digest) == 64
    assert source.utf16(12) == (0, 12)


def test_what_cannot_be_decoded_can_still_be_shown() -> None:
    source = SourceText.salvage(b"x = 1\ny = '\xff'\n", PATH)
    assert source.line(2) == "y = '\N{REPLACEMENT CHARACTER}'"


def test_a_span_is_a_range() -> None:
    with pytest.raises(ValueError, match=r"\[3, 2\)"):
        Span(3, 2)
    assert Span(1, 3).contains(2) and not Span(1, 3).contains(3)
    assert Span(1, 3).overlaps(Span(2, 9)) and not Span(1, 3).overlaps(Span(3, 4))
