"""Texts are cut at their top-level statements, whatever stands in strings and brackets."""

from __future__ import annotations

import ast
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from warplint.source.text import SourceError, SourceText
from warplint.static.parsing.chunks import Placed, split, split_again, starts


def pieces(text: str) -> list[str]:
    offsets = starts(text)
    return [text[start:end] for start, end in zip(offsets, [*offsets[1:], len(text)], strict=True)]


def chunks(text: str) -> list[Placed]:
    return split(text, SourceText(text, Path("a.py")).line_starts, {})


CUTS = {
    "empty": ([""]),
    "a comment only": (["# nothing\n"]),
    "one line each": (["import a\n", "x = 1\n"]),
    "blank lines and comments stay with what is before": (["x = 1\n\n# of y\n", "y = 2\n"]),
    "comments before the first statement": (["# title\n\nx = 1\n", "y = 2"]),
    "no end of line at the end": (["x = 1\n", "y = 2"]),
    "windows line ends": (["x = 1\r\n", "if y:\r\n    z\r\n", "w\r\n"]),
    "old mac line ends": (["x = 1\r", "if y:\r\tz\r", "w\r"]),
    "a block": (["def f():\n    a\n\n    b\n", "c\n"]),
    "clauses": (["if a:\n    b\nelif c:\n    d\nelse:\n    e\n", "f\n"]),
    "handlers": (["try:\n    a\nexcept E:\n    b\nelse:\n    c\nfinally:\n    d\n", "e\n"]),
    "names that begin like clauses": (["if a:\n    b\n", "elsewhere = 1\n", "exceptional()\n"]),
    "decorators": (["a\n", "@d\n@e(\n    1,\n)\n\n# why\nclass C:\n    pass\n", "b\n"]),
    "a decorator first": (["@d\ndef f(): pass\n", "b\n"]),
    "brackets": (["x = [\n1,\n2,\n]\n", "y = f(\n)\n"]),
    "brackets in strings and comments": (["x = '(' # [\n", "y = {'}': \"[\"}\n", "z\n"]),
    "a triple-quoted string": (['"""a\nb = 1\n\'\'\'\n"""\n', "c\n"]),
    "quotes inside triple quotes": (['x = """ " "" \\""" \n y""" + "a"\n', "c\n"]),
    "a raw string ending in a quoted quote": (['x = r"\\"(" \n', "c\n"]),
    "a byte string": (["x = b'('\n", "c\n"]),
    "a backslash at the end of a line": (["x = 1 + \\\n2\n", "y = 'a\\\nb'\n", "z\n"]),
    "a backslash at the start of a line": (["def f():\n\\\n    a\n", "b\n\\\nc = 1\n", "d\n"]),
    "semicolons": (["a = 1; b = 2\n", "c\n"]),
    "form feeds": (["a\n", "\x0cb\n", "\x0c\x0cc\n"]),
    "tabs": (["if a:\n\tb\n", "c\n"]),
    "an f-string": (["x = f'{a[0]} ( {b}'\n", "c\n"]),
    "an f-string with doubled braces": (["x = f'{{ {a} ({{'\n", "c\n"]),
    "an f-string with the other quotes inside": (["x = f\"{a['(']}\"\n", "c\n"]),
    "an f-string with a nested format": (["x = f'{a:{b}.{c}}' + '('\n", "c\n"]),
    "an f-string over lines": (['x = rf"""{\na["("]\n} ( """\n', "c\n"]),
    "an f-string in an f-string": (['x = f\'{f"{a}" + "("}\'\n', "c\n"]),
    "a keyword right before a string": (["x = 1 if'('else 2\n", "y = a or'{'\n", "c\n"]),
    "a soft keyword": (["match x:\n    case 1:\n        pass\n", "match = 1\n"]),
}


@pytest.mark.parametrize("expected", CUTS.values(), ids=CUTS)
def test_a_text_is_cut_at_its_top_level_statements(expected: list[str]) -> None:
    assert pieces("".join(expected)) == expected
    assert [placed.chunk.fault for placed in chunks("".join(expected))] == [None] * len(expected)


@pytest.mark.parametrize(
    "first",
    [
        'x = f"{a["("]}"\n',
        'x = f"{a["}"]} ("\n',
        "x = f'{f'{'('}'}'\n",
        'x = f"{a:{b["{"]}}"\n',
        'x = f"""{\n"(" # )\n}"""\n',
        "type A[T] = list[T]\n",
    ],
)
def test_the_newer_grammar_is_cut_on_every_version(first: str) -> None:
    assert pieces(first + "c\n") == [first, "c\n"]
    faults = [placed.chunk.fault is None for placed in chunks(first + "c\n")]
    assert faults == [sys.version_info >= (3, 12), True]


BROKEN = {
    "a syntax error": ("x = = 1\n", 1),
    "a bracket that is never closed": ("x = f(1,\n", 1),
    "a bracket never opened": ("x = 1)\n", 1),
    "Python 2": ('print "hello"\n', 1),
    "an unfinished function": ("def f(\n", 1),
    "an unfinished string": ("x = 'abc\n", 1),
    "an unfinished f-string": ("x = f'{a\n", 1),
    "a bracket that is never closed in an f-string": ("x = f'{a(1,\n", 1),
    "an unfinished block": ("if x:\n", 1),
    "wrong indentation": ("def f():\n        a\n    b\n", 3),
    "a decorator on nothing": ("@d\nx = 1\n", 2),
}


@pytest.mark.parametrize(("broken", "line"), BROKEN.values(), ids=BROKEN)
def test_a_broken_statement_leaves_the_others_alone(broken: str, line: int) -> None:
    found = chunks("import a\n" + broken + "def g():\n    return 1\n\nclass C:\n    pass\n")
    faults = [placed.chunk.fault for placed in found]
    assert [fault is None for fault in faults] == [True, False, True, True]
    fault = faults[1]
    assert fault is not None and fault.line <= line and fault.message


def test_an_open_triple_quote_takes_the_rest() -> None:
    found = chunks('import a\nx = """\ndef g():\n    pass\n')
    assert [placed.chunk.fault is None for placed in found] == [True, False]


@pytest.mark.parametrize("text", ["x = 1\0\n", "x = '\ud800'\n", "(" * 5000, "x = " + "-" * 100_000 + "1\n"])
def test_what_the_parser_refuses_is_a_fault(text: str) -> None:
    (placed,) = chunks(text)
    assert placed.chunk.fault is not None and placed.chunk.tree.body == []


def test_a_chunk_knows_its_line() -> None:
    found = chunks("# title\r\n\r\nimport a\r\n\r\n\r\nx = 1\r\n")
    assert [(placed.line, placed.start) for placed in found] == [(1, 0), (6, 25)]


def test_unchanged_chunks_are_kept_and_the_same_text_twice_is_two() -> None:
    before = chunks("a = 1\nb = 2\n")
    known = {placed.chunk.text: placed.chunk for placed in before}
    text = "b = 2\na = 3\nb = 2\n"
    after = split(text, SourceText(text, Path("a.py")).line_starts, known)
    assert after[0].chunk is before[1].chunk
    assert after[2].chunk is not after[0].chunk
    assert after[2].chunk.text == after[0].chunk.text


EDITED = (
    "# title\n\nimport a\n\n\n@b\ndef c(d):\n    return d\n\nx = 1\n" * 3,
    "x = (\nfrom\na\nimport b\ny = 1\n" * 3,
    "if a:\n    b\nelse:\n    c\ny = f'{x!r}' \\\n  'z'\r\nwhile e: pass\n" * 3,
    'x = """\nimport a\n"""\ny = f\'\'\'{\n1}\'\'\'\nz = rb"a"\n' * 3,
)
TYPED = (
    "", "\n", "(", ")", "{", "'", '"""', "f'{", "\\\n", "#", " ", "@d\n", "else", "elif", "import x\n",
    "from\n", "def", "async\n", "\r", "\f", "é", "rb", "f",
)  # fmt: skip


@pytest.mark.parametrize("text", EDITED)
@pytest.mark.parametrize("typed", TYPED)
def test_a_text_is_cut_the_same_from_the_place_of_an_edit_on(text: str, typed: str) -> None:
    before = chunks(text)
    for place in range(0, len(text) + 1, 3):
        for erased in (0, 4):
            after = text[:place] + typed + text[place + erased :]
            line_starts = SourceText(after, Path("a.py")).line_starts
            again = split_again(after, line_starts, text, before)
            expected = split(after, line_starts, {})
            assert [(it.chunk.text, it.start, it.line) for it in again] == [
                (it.chunk.text, it.start, it.line) for it in expected
            ], after


def test_what_an_edit_leaves_alone_is_kept_though_it_moves() -> None:
    text = "".join(f"x{number} = {number}\n" for number in range(20))
    before = chunks(text)
    after = text.replace("10", "(\n10)")
    again = split_again(after, SourceText(after, Path("a.py")).line_starts, text, before)
    assert [it.chunk for it in again if it.chunk in [old.chunk for old in before]] == [
        old.chunk for number, old in enumerate(before) if number != 10
    ]


def standard_library() -> Iterator[Path]:
    """Every twentieth module, and those known for odd layout."""
    root = Path(sysconfig.get_path("stdlib"))
    modules = sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts)
    yield from modules[::20]
    yield from (
        root / name for name in ("smtpd.py", "tokenize.py", "statistics.py") if (root / name).exists()
    )


@pytest.mark.parametrize("path", list(standard_library()), ids=lambda path: path.name)
def test_the_chunks_together_are_the_whole(path: Path) -> None:
    try:
        source = SourceText.read(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = ast.parse(source.text)
    except (SourceError, SyntaxError):
        # Some of the parser's own tests are not meant to parse: they must be survived, no more.
        starts(path.read_text("utf-8", "replace"))
        return
    body = []
    for placed in split(source.text, source.line_starts, {}):
        assert placed.chunk.fault is None
        body += [ast.increment_lineno(statement, placed.line - 1) for statement in placed.chunk.tree.body]
    assert ast.dump(ast.Module(body, []), include_attributes=True) == ast.dump(whole, include_attributes=True)
