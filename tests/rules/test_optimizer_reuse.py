"""What the report of optimizers rests on beyond their own function."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.rules.registry import load_rules

MADE = "import torch\n\n\ndef build(model):\n    optimizer = torch.optim.AdamW(model.parameters())\n"


@pytest.mark.parametrize(
    ("body", "asks_the_file"), [("    return optimizer\n", False), ("    model(1).backward()\n", True)]
)
def test_only_a_function_that_trains_asks_what_its_file_calls(body: str, asks_the_file: bool) -> None:
    rules = [rule for rule in load_rules() if rule.name == "optimizer-not-fused"]
    analysis = Analyzer(rules).analyze(SourceText(MADE + body, Path("build.py")))
    asked = {name for told in analysis.told.values() for name, _ in told.asked}
    assert ("is_called" in asked) is asks_the_file
