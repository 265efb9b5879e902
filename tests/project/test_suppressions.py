"""``# warplint: ignore`` comments: what they cover, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.project.suppressions import Suppressions, read_suppressions, silencing_edit
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Finding

CODES = {"WL101": "WL101", "WL102": "WL102", "WL201": "WL201", "host-read": "WL201"}


def read(text: str) -> Suppressions:
    return read_suppressions(SourceText(text, Path("x.py")), CODES)


def hidden(text: str, code: str = "WL101") -> list[int]:
    suppressions = read(text)
    return [line for line in range(1, text.count("\n") + 2) if suppressions.hide(code, line)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\n", []),
        ("x = 1  # warplint: ignore[WL101]\ny = 2", [1]),
        ("x = 1  # warplint: ignore\ny = 2", [1]),
        ("x = 1  # warplint: ignore[WL201, WL101]\n", [1]),
        ("x = 1  # warplint: ignore[WL201]\n", []),
        ("x = 1  # type: ignore # warplint: ignore[WL101]\n", [1]),
        ("x = 1  # warplint: ignore[WL201]  # warplint: ignore[WL101]\n", [1]),
        ("x = 1  # warplint: ignore[WL101] because the values are random\n", [1]),
        ("x = 1  #warplint:ignore[WL101]\n", [1]),
        ("x = 1  # warplint: ignore[host-read, WL101]\n", [1]),
        ("x = 1  # warplint: ignore[host-read]\n", []),
        ("f(\n    a,\n    b,\n)  # warplint: ignore[WL101]\ny\n", [1, 2, 3, 4]),
        ("f(  # warplint: ignore[WL101]\n    a,\n)\ny\n", [1, 2, 3]),
        ("f(\n    # warplint: ignore[WL101]\n    a,\n)\ny\n", [1, 2, 3, 4]),
        ("x = a + \\\n    b  # warplint: ignore[WL101]\n", [1, 2]),
        ("for x in y:  # warplint: ignore[WL101]\n    z\n", [1]),
        ("for x in y:\n    z  # warplint: ignore[WL101]\n", [2]),
        ("x = '''\n# warplint: ignore[WL101]\n'''\n", []),
        ("x = '''\na\n'''  # warplint: ignore[WL101]\n", [1, 2, 3]),
        ("if x:\n    y  # warplint: ignore[WL101]\nz\n", [2]),
        ("x = 1  # warplint: ignore[WL101]", [1]),
        ("x = 'é\u2028'  # warplint: ignore[WL101]\r\ny\r\n", [1]),
    ],
)
def test_a_comment_covers_its_logical_statement(text: str, lines: list[int]) -> None:
    assert hidden(text) == lines
    assert read(text).notices == ()


def test_lone_carriage_returns_are_lines() -> None:
    suppressions = read("a\rb  # warplint: ignore[WL101]\rc")
    assert [suppressions.hide("WL101", line) for line in (1, 2, 3)] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "said", "lines"),
    [
        ("x  # warplint: ignore[WL999]\n", "there is no rule 'WL999'", []),
        ("x  # warplint: ignore[wl101]\n", "there is no rule 'wl101'; did you mean 'WL101'?", []),
        ("x  # warplint: ignore[WL101, WL999]\n", "there is no rule 'WL999'", [1]),
        ("x  # warplint: ignore[]\n", "'ignore[]' is not understood", []),
        ("x  # warplint: ignore WL101\n", "'ignore WL101' is not understood", []),
        ("x  # warplint: ignore: WL101\n", "write `# warplint: ignore[WL101]`", []),
        ("x  # warplint: ignore[WL101\n", "'ignore[WL101' is not understood", []),
        ("x  # warplint: disable=WL101\n", "'disable=WL101' is not understood", []),
        ("x  # warplint: ignored\n", "'ignored' is not understood", []),
        ("x  # warplint:\n", "'' is not understood", []),
        ("# warplint: ignore[WL101]\nx\n", "on a line of its own silences nothing", []),
    ],
)
def test_what_is_not_understood_is_said(text: str, said: str, lines: list[int]) -> None:
    (notice,) = read(text).notices
    assert said in notice.message
    assert text[notice.span.start : notice.span.end].startswith("# warplint")
    assert hidden(text) == lines


def test_prose_about_warplint_is_no_pragma() -> None:
    assert read("x = 1  # warplint measured this\n# see warplint: ignore comments\n") == Suppressions()


def test_a_missing_colon_is_forgiven() -> None:
    assert hidden("x = 1  # warplint ignore[WL101]\n") == [1]


@pytest.mark.parametrize(
    "text",
    [
        "x = (1  # warplint: ignore[WL101]\ny = 2\n",
        "if x:\n        a  # warplint: ignore[WL101]\n    b\n",
        "x = '''\n",
        "print 'a'  # warplint: ignore[WL101]\n",
        "x = $ ? 1  # warplint: ignore[WL101]\n",
    ],
)
def test_text_that_does_not_parse_keeps_its_suppressions(text: str) -> None:
    marked = [number for number, line in enumerate(text.split("\n"), 1) if "ignore" in line]
    assert hidden(text) == marked


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«x»\n", "x  # warplint: ignore[WL101]\n"),
        ("«x»", "x  # warplint: ignore[WL101]"),
        ("f(\n    «x»,\n)\r\ny\r\n", "f(\n    x,\n)  # warplint: ignore[WL101]\r\ny\r\n"),
        ("«x»  # why\n", "x  # why  # warplint: ignore[WL101]\n"),
        ("«x»  # warplint: ignore[WL201] why\n", "x  # warplint: ignore[WL201, WL101] why\n"),
        ("for «x» in y:\n    z\n", "for x in y:  # warplint: ignore[WL101]\n    z\n"),
        ("«x» = '''\n'''\n", "x = '''\n'''  # warplint: ignore[WL101]\n"),
        ("«x» = a + \\\n    b\n", "x = a + \\\n    b  # warplint: ignore[WL101]\n"),
        ("print 'a'\n«x»\n", "print 'a'\nx  # warplint: ignore[WL101]\n"),
    ],
)
def test_the_edit_that_silences_a_finding(before: str, after: str) -> None:
    span = Span(before.index("«"), before.index("»") - 1)
    text = before.replace("«", "").replace("»", "")
    edit = silencing_edit(SourceText(text, Path("x.py")), Finding("WL101", "name", "message", span))
    assert text[: edit.span.start] + edit.text + text[edit.span.end :] == after
    line = after[: span.start].count("\n") + 1
    assert read(after).hide("WL101", line)


@pytest.mark.parametrize(
    ("listed", "grey"),
    [
        ("WL201, «WL301»", "the last"),
        ("«WL301», WL201", "the first"),
        ("WL201, «WL301, WL302», WL202", "those in the middle"),
        ("WL301, WL201, WL302", "all: another stands between"),
        ("WL301", "all"),
    ],
)
def test_what_could_go_is_the_words_alone_where_others_stay(listed: str, grey: str) -> None:
    marked = f"x = 1  # warplint: ignore[{listed}]"
    text = marked.replace("«", "").replace("»", "")
    source = SourceText(text, Path("a.py"))
    words = {code: code for code in ("WL201", "WL202", "WL301", "WL302")}
    found = [("WL201", 1), ("WL202", 1)]
    (unused,) = read_suppressions(source, words).unused(source, found)
    start = marked.find("«") if "«" in marked else text.index("#")
    end = marked.find("»") - 1 if "»" in marked else len(text)
    assert (unused.span.start, unused.span.end) == (start, end), grey
