"""Every example in a rule's file does what it says there."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.finding import Applicability, Finding
from warplint.static.fixing import fix_reported
from warplint.static.rules.registry import CLOSE, OPEN, load_rules
from warplint.static.rules.rule import Example, Rule

RULES = load_rules()
FIRES = [
    pytest.param(rule, example, id=f"{rule.code} {example.why}") for rule in RULES for example in rule.fires
]
QUIET = [
    pytest.param(rule, example, id=f"{rule.code} {example.why}") for rule in RULES for example in rule.quiet
]
FIXED = [
    pytest.param(rule, example, id=f"{rule.code} {example.why}")
    for rule in RULES
    for example in rule.fires
    if example.fixed is not None
]


def unmarked(marked: str) -> tuple[str, list[str]]:
    """The source without its marks, and the marked places as ``start-end`` of characters."""
    text, places, starts = "", [], []
    for character in marked:
        if character == OPEN:
            starts.append(len(text))
        elif character == CLOSE:
            places.append(f"{starts.pop()}-{len(text)}")
        else:
            text += character
    return text, places


def findings(rule: Rule, example: Example, text: str) -> list[Finding]:
    analyzer = Analyzer([rule], torch=example.torch)
    return list(analyzer.analyze(SourceText(text, Path("example.py"))).findings)


def fixed(rule: Rule, example: Example, text: str) -> str:
    source = SourceText(text, Path("example.py"))
    return fix_reported(
        Analyzer([rule], torch=example.torch), source, lambda analysis: analysis.findings, unsafe=True
    ).text


@pytest.mark.parametrize(("rule", "example"), FIRES)
def test_a_firing_example_fires_at_its_marks_and_nowhere_else(rule: Rule, example: Example) -> None:
    text, places = unmarked(example.source)
    found = findings(rule, example, text)
    expected = sorted(tuple(int(offset) for offset in place.split("-")) for place in places)
    assert [(finding.span.start, finding.span.end) for finding in found] == expected
    for finding in found:
        assert (finding.code, finding.name) == (rule.code, rule.name)
        assert finding.message.endswith(".") and "\n" not in finding.message


@pytest.mark.parametrize(("rule", "example"), QUIET)
def test_a_quiet_example_is_quiet(rule: Rule, example: Example) -> None:
    assert [finding.message for finding in findings(rule, example, example.source)] == []


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_a_fix_writes_what_the_example_says(rule: Rule, example: Example) -> None:
    text, _ = unmarked(example.source)
    result = fixed(rule, example, text)
    assert result == example.fixed
    ast.parse(result)


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_fixing_again_changes_nothing(rule: Rule, example: Example) -> None:
    assert example.fixed is not None
    assert fixed(rule, example, example.fixed) == example.fixed


@pytest.mark.parametrize(("rule", "example"), FIRES)
def test_an_example_without_fixed_text_has_no_fix(rule: Rule, example: Example) -> None:
    text, _ = unmarked(example.source)
    fixes = {finding.fix for finding in findings(rule, example, text)}
    assert (fixes == {Applicability.NONE}) is (example.fixed is None)


@pytest.mark.parametrize(("rule", "example"), [*FIRES, *QUIET])
def test_an_example_gives_the_same_results_deeper_in_a_file(rule: Rule, example: Example) -> None:
    """Positions and hotness hold where the code does not start the file."""
    text, places = unmarked(example.source)
    above = '"""Ünïcode, and a class above."""\n\n\nclass Above:\n    pass\n\n\n'
    found = findings(rule, example, above + text)
    expected = sorted(tuple(int(offset) + len(above) for offset in place.split("-")) for place in places)
    assert [(finding.span.start, finding.span.end) for finding in found] == expected


@pytest.mark.parametrize(("rule", "example"), [*FIRES, *QUIET])
def test_examples_are_python(rule: Rule, example: Example) -> None:
    ast.parse(textwrap.dedent(unmarked(example.source)[0]))
