"""docs/language.md says how messages are written, and the messages are written so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warplint.advice.unreported import KINDS
from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.rules.registry import CLOSE, OPEN, load_rules

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
LONGEST = 260
ORDERS = re.compile(
    "(?i)(add|allocate|append|ask|average|build|call|compare|compute|copy|decide|divide|do|fill|hand|index|keep"
    "|leave|load|log|make|measure|move|pad|pass|print|put|read|register|run|scale|set|sort|start|sum|switch|take"
    r"|update|use|work|wrap|write)\b"
)


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


def without_code(message: str) -> str:
    return re.sub(r"`[^`]*`", "``", message)


def sentences(message: str) -> list[str]:
    return re.split(r"(?<=[.?!]) ", without_code(message))


def words_not_written() -> list[str]:
    """The right column of the table of words."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    right = next(index for index, row in enumerate(rows) if row == ("we write", "and not")) + 1
    return [word.strip() for _, cell in rows[right:] for word in cell.split(",")]


MESSAGES = [
    pytest.param(message, id=f"{code} {index}")
    for index, (code, message) in enumerate(
        [*of_rules(), *((kind.entry.code, kind.message) for kind in KINDS)]
    )
]


@pytest.mark.parametrize("message", MESSAGES)
class TestMessage:
    def test_is_one_short_line_of_one_or_two_sentences(self, message: str) -> None:
        assert len(message) <= LONGEST
        assert message == " ".join(message.split())
        assert message.endswith(".") and message.count("`") % 2 == 0
        assert len(sentences(message)) <= 2

    def test_says_what_to_do(self, message: str) -> None:
        last = sentences(message)[-1]
        order = last.split(": ")[-1] if last is sentences(message)[0] else last
        assert "``" in order or ORDERS.match(order)

    def test_holds_no_word_that_is_not_written(self, message: str) -> None:
        said = without_code(message)
        assert [word for word in words_not_written() if re.search(rf"\b{re.escape(word)}\b", said)] == []


def test_the_page_names_the_length() -> None:
    assert f"at most {LONGEST} characters" in PAGE.read_text(encoding="utf-8")


def test_the_table_of_words_is_read_whole() -> None:
    words = words_not_written()
    assert {"sync", "tensor cores", "bottleneck", "bad", "kick off"} <= set(words)
    assert len(words) == len(set(words)) > 30
