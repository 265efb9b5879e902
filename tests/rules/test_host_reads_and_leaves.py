"""What is said of values in texts, and which tensors are built elsewhere only on request."""

from __future__ import annotations

from pathlib import Path

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.finding import Applicability, Finding
from warplint.static.rules.registry import load_rules

LOOP = """\
import torch


def train(model, loader, optimizer):
    for x, y in loader:
        x = x.cuda()
        {made}
        loss = model(x, made)
        loss.backward()
        optimizer.step()
        {told}
"""


def found(code: str, made: str = "made = 3", told: str = "pass") -> Finding:
    text = LOOP.format(made=made, told=told)
    analysis = Analyzer(load_rules()).analyze(SourceText(text, Path("train.py")))
    (finding,) = (finding for finding in analysis.findings if finding.code == code)
    return finding


def test_a_leaf_of_the_graph_is_built_on_the_gpu_only_on_request() -> None:
    """Moved, it was no leaf: it may be written in place, and has no gradient of its own."""
    plain = found("WL101", made="made = torch.zeros(3).to(x.device)")
    leaf = found("WL101", made="made = torch.zeros(3, requires_grad=True).to(x.device)")
    assert (plain.fix, leaf.fix) == (Applicability.SAFE, Applicability.UNSAFE)


def test_a_tensor_whose_shape_alone_is_taken_is_not_met() -> None:
    """``expand_as`` and the like read the other tensor's shape: they raise nothing on another device."""
    for shaped in ("expand_as(x)", "view_as(x)", "reshape_as(x)"):
        finding = found("WL101", made=f"made = torch.arange(3).{shaped}.to(x.device)")
        assert "copied to the GPU" in finding.message


def test_a_value_in_a_text_is_not_called_a_test() -> None:
    text, test = found("WL201", told='print(f"{loss}")'), found("WL201", told="assert loss < 3")
    assert text.message.startswith("The text of `loss`") and "torch.where" not in text.message
    assert test.message.startswith("The test of `loss < 3`") and "torch.where" in test.message


def test_pieces_copied_to_the_host_are_not_to_be_read_as_numbers() -> None:
    copied = found("WL201", made="for i in range(8): kept[i] = (x[i] * 2).cpu()")
    read = found("WL201", made="for i in range(8): kept[i] = x[i].item()")
    assert "one `.cpu()`" in copied.message and ".tolist()" not in copied.message
    assert "one `.tolist()`" in read.message
