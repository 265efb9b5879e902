"""What holds of every score, over all the rules' examples."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from scoring import checked, source

from warplint.advice.score.file_score import Score, score
from warplint.advice.score.weights import Band
from warplint.project.config import Config
from warplint.project.engine import Engine
from warplint.static.rules.registry import CLOSE, OPEN, load_rules
from warplint.static.rules.rule import Example, Rule

TEXTS = [
    pytest.param(example.source.replace(OPEN, "").replace(CLOSE, ""), id=f"{rule.code} {example.why}")
    for rule in load_rules()
    for example in (*rule.fires, *rule.quiet)
]
FIRING = [
    pytest.param(rule, example, id=f"{rule.code} {example.why}")
    for rule in load_rules()
    if not rule.preview
    for example in rule.fires
]

BANDS = {**dict.fromkeys(range(31), Band.RED), **dict.fromkeys(range(31, 71), Band.YELLOW)}

EDITS: dict[str, Callable[[str], str]] = {
    "a space": lambda text: text.replace(" = ", "  = "),
    "a comment": lambda text: re.sub(r"\n(?=.)", "  # a comment\n", text, count=1),
    "a comment at the end": lambda text: text + "# a comment\n",
    "an empty line above": lambda text: "\n" + text,
    "a statement at the end": lambda text: text + "unrelated = 3\n",
    "a function above": lambda text: "def unrelated():\n    return 3\n\n\n" + text,
    "other line ends": lambda text: text.replace("\n", "\r\n"),
}


def without_lines(found: Score | None) -> list[tuple[str, int]] | None:
    """Parts that can be compared between texts whose lines have moved."""
    if found is None:
        return None
    return [(re.sub(r"on line \d+", "", part.label), part.points) for part in found.parts]


@pytest.mark.parametrize("text", TEXTS)
def test_parts_add_up_within_the_range_and_the_band_fits(text: str) -> None:
    found = score(checked(text))
    if found is None:
        assert not checked(text).findings
        return
    assert found.value == sum(part.points for part in found.parts)
    assert 0 <= found.value <= 100
    assert found.band is BANDS.get(found.value, Band.GREEN)
    assert found.summary.endswith(".")
    lines = text.count("\n") + 1
    assert all(part.line is None or 1 <= part.line <= lines for part in found.parts)


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_text_has_the_same_score(text: str) -> None:
    first = checked(text)
    assert score(first) == score(first) == score(checked(text)) == score(checked(text, first))


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_small_edit_changes_nothing(text: str, edit: Callable[[str], str]) -> None:
    assert without_lines(score(checked(edit(text)))) == without_lines(score(checked(text)))


@pytest.mark.parametrize(("rule", "example"), FIRING)
def test_silencing_what_a_rule_found_raises_the_score(rule: Rule, example: Example) -> None:
    """Of several places the first counts most, and the last may count nothing: so all of them."""
    text = example.source.replace(OPEN, "").replace(CLOSE, "")
    engine = Engine(Path("/"), Config(Path("/"), torch_version=example.torch))
    before = engine.check(source(text))
    lines = text.split("\n")
    for finding in before.findings:
        if finding.code == rule.code:
            last = before.source.position(finding.span.end).line
            lines[last - 1] += f"  # warplint: ignore[{rule.code}]"
    silenced = engine.check(source("\n".join(lines)))
    assert len(silenced.findings) < len(before.findings)
    found, left = score(before), score(silenced)
    assert found is not None
    if left is None:
        assert not silenced.findings, "without a finding, a text may show nothing of a GPU"
    else:
        assert left.value > found.value
