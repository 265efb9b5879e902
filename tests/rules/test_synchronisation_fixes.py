"""The fixed examples of the synchronisation rules compute what the originals do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.fixing import fix_reported
from warplint.static.rules.registry import CLOSE, OPEN
from warplint.static.rules.rule import Rule
from warplint_rules.synchronisation.checked_algebra import CheckedAlgebraInHotCode
from warplint_rules.synchronisation.device_number import NumberCopiedToDevice
from warplint_rules.synchronisation.scalar_write import NumberWrittenAtIndex

MODULES: dict[str, tuple[type[Rule], tuple[torch.Tensor, ...]]] = {
    "Targets": (NumberWrittenAtIndex, (torch.arange(12.0).view(4, 3),)),
    "Clamp": (NumberCopiedToDevice, (torch.linspace(-3, 3, 7),)),
    "Project": (CheckedAlgebraInHotCode, (torch.ones(2, 3), torch.eye(3) * 2)),
}


def sources(rule: type[Rule], name: str) -> tuple[str, str]:
    """The original and the fixed source of the example that defines a module."""
    for shown in rule.fires:
        if shown.fixed is not None and f"class {name}(" in shown.source:
            return shown.source.replace(OPEN, "").replace(CLOSE, ""), shown.fixed
    raise LookupError(name)


def result(source: str, name: str, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    given: torch.Tensor = namespace[name]()(*(tensor.clone() for tensor in inputs))
    return given


@pytest.mark.parametrize("name", MODULES)
def test_the_fix_changes_no_value(name: str) -> None:
    rule, inputs = MODULES[name]
    original, fixed = (result(source, name, inputs) for source in sources(rule, name))
    assert original.dtype == fixed.dtype
    assert torch.equal(original, fixed)


NUMBERS: list[bool | int | float | complex] = [True, False, 3, -1, 0.5, float("inf"), 1j]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_filled_tensor_is_the_copied_one(number: complex) -> None:
    copied, filled = torch.tensor(number), torch.full((), number)
    assert (filled.dtype, filled.shape) == (copied.dtype, copied.shape)
    assert torch.equal(filled, copied)


@pytest.mark.parametrize(
    "held", [torch.zeros(4), torch.zeros(4).long(), torch.zeros(4).half(), torch.zeros(4) > 0]
)
@pytest.mark.parametrize("number", [True, 3, 0.5])
def test_a_number_is_written_alike(held: torch.Tensor, number: float) -> None:
    index = torch.tensor([0, 2])
    plain, filled = held.clone(), held.clone()
    plain[index] = number
    filled[index] = filled.new_full((), number)
    assert torch.equal(plain, filled)


def test_what_a_name_stands_for_is_filled_in_only_on_request() -> None:
    text = """\
from torch import nn


class Scale(nn.Module):
    def forward(self, x, scale=1):
        return x * x.new_tensor(scale) + x.new_tensor(len(x))
"""
    analyzer, source = Analyzer([NumberCopiedToDevice()]), SourceText(text, Path("scale.py"))
    safe = fix_reported(analyzer, source, lambda analysis: analysis.findings, unsafe=False)
    assert safe.text == text.replace("new_tensor(len(x))", "new_full((), len(x))")
