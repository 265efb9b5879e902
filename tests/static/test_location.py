"""Findings beside the program are less sure than those in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from probes import Probe

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.finding import Confidence

MADE = "import torch\ntorch.zeros(3)\n"


def confidence(path: str, root: str | None = None) -> Confidence:
    analyzer = Analyzer([Probe()], None if root is None else Path(root).absolute())
    return analyzer.analyze(SourceText(MADE, Path(path))).findings[0].confidence


@pytest.mark.parametrize(
    "path",
    [
        "tests/models/test_net.py",
        "package/tests/helpers.py",
        "docs/source/tutorial.py",
        "benchmarks/run.py",
        "scripts/convert_weights_to_hf.py",
        "tools/convert/llama.py",
        "package/models/convert_bart_checkpoint.py",
        "package/utils/checkpoint.py",
        "package/visualization/attention.py",
        "package/utils/plotting.py",
        "package/models/processing_clip.py",
        "package/models/tokenization_t5.py",
        "package/datasets/coco.py",
        "conftest.py",
    ],
)
def test_findings_beside_the_program_are_only_possible(path: str) -> None:
    assert confidence(path) is Confidence.POSSIBLE


@pytest.mark.parametrize(
    "path",
    [
        "train.py",
        "package/models/net.py",
        "package/latest.py",
        "package/contest/model.py",
        "package/activation_checkpointing.py",
        "examples/mnist/main.py",
        "package/inference/plane.py",
    ],
)
def test_findings_in_the_program_are_as_sure_as_their_rule(path: str) -> None:
    assert confidence(path) is Confidence.CERTAIN


def test_folders_around_the_project_say_nothing() -> None:
    assert confidence("/home/me/tests/project/train.py", "/home/me/tests/project") is Confidence.CERTAIN
    assert confidence("/home/me/tests/project/tests/run.py", "/home/me/tests/project") is Confidence.POSSIBLE


def test_a_file_outside_the_project_is_judged_by_all_of_its_path() -> None:
    assert confidence("/elsewhere/docs/train.py", "/home/me/project") is Confidence.POSSIBLE
