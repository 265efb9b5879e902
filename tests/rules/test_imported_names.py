"""What a rule looks for may be called by any name that an import gives it, also one that is typed later."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.rules.registry import CLOSE, OPEN, load_rules
from warplint.static.rules.rule import Rule

ANALYZER = Analyzer(load_rules())
ALIAS = "imported_name"


def source(text: str) -> SourceText:
    return SourceText(text, Path("typed.py"))


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.code)
def test_an_import_that_is_typed_later_is_the_same_as_one_that_was_there(rule: Rule) -> None:
    for example in rule.fires:
        text = example.source.replace(OPEN, "").replace(CLOSE, "")
        for name in sorted(rule.wants.calls):
            module, _, last = name.rpartition(".")
            if not module or f"{name}(" not in text:
                continue
            before = text.replace(f"{name}(", f"{ALIAS}(")
            after = f"from {module} import {last} as {ALIAS}\n{before}"
            edited = ANALYZER.analyze(source(after), ANALYZER.analyze(source(before)))
            assert edited.findings == ANALYZER.analyze(source(after)).findings, name
