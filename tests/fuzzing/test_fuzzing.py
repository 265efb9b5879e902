"""Whatever is typed, the engine answers; after an edit as in a new file; and fixes leave Python."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from typing_errors import CHANGES, Change

from warplint.source.text import SourceText
from warplint.static.analyze import Analysis, Analyzer
from warplint.static.fixing import fix_reported
from warplint.static.rules.registry import load_rules

RULES = load_rules()
ANALYZER = Analyzer(RULES)
SESSIONS = st.lists(CHANGES, min_size=1, max_size=4)


def source(text: str) -> SourceText:
    return SourceText(text, Path("typed.py"))


def parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True


def check_places(analysis: Analysis) -> None:
    length = len(analysis.source.text)
    for finding in analysis.findings:
        assert 0 <= finding.span.start < finding.span.end <= length, finding
        for related in finding.related:
            assert 0 <= related.span.start <= related.span.end <= length, finding


@given(st.data(), SESSIONS)
def test_after_each_edit_the_same_is_found_as_in_a_new_file(
    texts: list[str], data: st.DataObject, session: list[Change]
) -> None:
    text = data.draw(st.sampled_from(texts))
    analysis = ANALYZER.analyze(source(text))
    for change in session:
        text = change(text)
        note(text)
        analysis = ANALYZER.analyze(source(text), analysis)
        check_places(analysis)
        if parses(text):
            assert analysis.findings == Analyzer(RULES).analyze(source(text)).findings


@given(st.data(), SESSIONS)
def test_fixes_leave_what_parses_and_nothing_to_fix_again(
    texts: list[str], data: st.DataObject, session: list[Change]
) -> None:
    text = data.draw(st.sampled_from(texts))
    for change in session:
        text = change(text)
    note(text)
    once = fix_reported(ANALYZER, source(text), lambda analysis: analysis.findings, unsafe=True)
    if parses(text):
        assert parses(once.text)
    again = fix_reported(ANALYZER, source(once.text), lambda analysis: analysis.findings, unsafe=True)
    assert again.text == once.text


@pytest.mark.parametrize("unsafe", [False, True])
@given(st.text())
def test_any_text_at_all_is_answered(unsafe: bool, text: str) -> None:
    check_places(ANALYZER.analyze(source("import torch\n" + text)))
    fix_reported(ANALYZER, source("import torch\n" + text), lambda analysis: analysis.findings, unsafe)
