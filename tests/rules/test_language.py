"""docs/language.md says how messages are written, and the messages are written so."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.advice.measured.unreported import KINDS
from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.rules.registry import CLOSE, OPEN, load_rules
from wording import PAGE, faults, says_what_to_do, without_code, words_not_written

LONGEST = 260


def unmarked(source: str) -> str:
    return source.replace(OPEN, "").replace(CLOSE, "")


def of_rules() -> list[tuple[str, str]]:
    """The messages of all examples that fire: one of those that differ only in what they quote."""
    messages: dict[tuple[str, str], str] = {}
    for rule in load_rules():
        for example in rule.fires:
            source = SourceText(unmarked(example.source), Path("example.py"))
            for finding in Analyzer([rule], torch=example.torch).analyze(source).findings:
                messages.setdefault((rule.code, without_code(finding.message)), finding.message)
    return [(code, message) for (code, _), message in messages.items()]


MESSAGES = [
    pytest.param(message, id=f"{code} {index}")
    for index, (code, message) in enumerate(
        [*of_rules(), *((kind.entry.code, kind.message) for kind in KINDS)]
    )
]


@pytest.mark.parametrize("message", MESSAGES)
class TestMessage:
    def test_is_one_short_line_of_one_or_two_plain_sentences(self, message: str) -> None:
        assert list(faults(message, LONGEST)) == []

    def test_says_what_to_do(self, message: str) -> None:
        assert says_what_to_do(message)


def test_the_page_names_the_length() -> None:
    assert f"at most {LONGEST} characters" in PAGE.read_text(encoding="utf-8")


def test_the_table_of_words_is_read_whole() -> None:
    words = words_not_written()
    assert {"sync", "tensor cores", "bottleneck", "bad", "kick off"} <= set(words)
    assert len(words) == len(set(words)) > 30
