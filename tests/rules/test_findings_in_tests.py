"""What a test waits for costs nobody a training run."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint_rules.kernels.conv_bias_before_norm import ConvolutionBiasBeforeNorm
from warplint_rules.synchronisation.host_read import HostReadInHotLoop

RULES = (HostReadInHotLoop(), ConvolutionBiasBeforeNorm())
STEPS = """\
import torch
from torch import nn

block = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        assert loss.item() < 10
"""
METHOD = "\n\nclass Trainer:\n    def test_epoch(self):\n        return self.model\n"


def codes(text: str, path: str, root: Path | None = None) -> list[str]:
    analysis = Analyzer(RULES, root).analyze(SourceText(text, Path(path)))
    return [finding.code for finding in analysis.findings]


@pytest.mark.parametrize("path", ["tests/models/net.py", "package/test_net.py", "unittests/conftest.py"])
@pytest.mark.parametrize("head", ["import pytest\n", "from unittest import TestCase\n"])
def test_a_test_waits_as_it_likes(path: str, head: str) -> None:
    assert codes(head + STEPS, path) == []


def test_methods_that_a_test_framework_would_run_make_a_test_where_tests_are() -> None:
    assert codes(STEPS + METHOD, "tests/net.py") == []
    assert codes(STEPS + METHOD, "package/trainer.py") == ["WL511", "WL201"]


@pytest.mark.parametrize("path", ["/home/tests/project/trainer.py", "train_test.py"])
def test_such_methods_make_no_test_by_where_the_project_lies_or_by_an_ambiguous_name(path: str) -> None:
    assert codes(STEPS + METHOD, path) == ["WL511", "WL201"]


def test_a_project_without_settings_has_no_known_root(tmp_path: Path) -> None:
    path = str(tmp_path / "tests" / "project" / "trainer.py")
    assert codes(STEPS + METHOD, path, Path(tmp_path.anchor)) == ["WL511", "WL201"]
    assert codes(STEPS + METHOD, path, tmp_path) == []


@pytest.mark.parametrize("path", ["/home/project/tests/net.py", "net_test.py"])
def test_a_framework_makes_a_test_in_the_nearest_folder_and_by_an_ambiguous_name(path: str) -> None:
    assert codes("import pytest\n" + STEPS, path) == []


def test_a_program_among_tests_that_tests_nothing_is_reported() -> None:
    assert codes(STEPS, "tests/speed.py") == ["WL511", "WL201"]
