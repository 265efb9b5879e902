"""A class with twice the layers takes a rule about twice the work, not four times."""

from __future__ import annotations

import sys
from pathlib import Path

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint_rules.kernels.conv_bias_before_norm import ConvolutionBiasBeforeNorm

FEW, MANY = 40, 160


def network(convolutions: int) -> str:
    """Convolutions whose normalisation stands around them and in the next statement, in turn."""
    numbers = range(convolutions)
    made = [
        f"        self.conv{n} = nn.Conv2d(8, 8, 3)\n        self.norm{n} = nn.BatchNorm2d(8)\n"
        for n in numbers
    ]
    used = [
        f"        x = self.norm{n}(self.conv{n}(x))\n"
        if n % 2
        else f"        x = self.conv{n}(x)\n        x = self.norm{n}(x)\n"
        for n in numbers
    ]
    head = (
        "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    )
    return f"{head}{''.join(made)}\n    def forward(self, x):\n{''.join(used)}        return x\n"


def calls_to_find(convolutions: int) -> int:
    """How many calls of Python functions it takes to find them all."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    source = SourceText(network(convolutions), Path("net.py"))
    analyzer = Analyzer([ConvolutionBiasBeforeNorm()])
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        findings = analyzer.analyze(source).findings
    finally:
        sys.setprofile(before)
    assert len(findings) == convolutions
    return calls


def test_a_class_is_not_read_again_for_each_convolution() -> None:
    calls_to_find(1)
    few, many = calls_to_find(FEW), calls_to_find(MANY)
    assert many < 1.5 * few * MANY / FEW
