from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Severity
from warplint.static.parsing.tree import below, last_name
from warplint.static.rules.rule import (
    At,
    Example,
    Metric,
    Rewrite,
    Risk,
    Rule,
    Signature,
    TorchVersion,
    Verdict,
    wants,
)
from warplint.static.values import Kind
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules._programs import stays_on_cpu
from warplint_rules._tests import is_test

if TYPE_CHECKING:
    import libcst as cst

CHOICES = ("capturable", "differentiable", "foreach", "fused")
"""Arguments by which a program chooses how the step is done."""
PARAMETERS = Pattern(r"\w*(dense|group|param|weight)\w*")
"""Names of what an optimizer is handed when it is a model's parameters."""
GIVERS = frozenset({"named_parameters", "parameters"})
SMALL = frozenset({"torch.nn.Bilinear", "torch.nn.Embedding", "torch.nn.Linear", "torch.nn.Parameter"})
"""Models of one or two tensors: one kernel a tensor is as good."""
TABLES = ("embedding", "embeddings")
MOVES = ("cuda", "to", "prepare", "setup", "fit")
"""Calls by which a file shows that it trains on a device, itself or through a framework."""


class OptimizerNotFused(Rule):
    """Adam or AdamW updates the parameters in several passes where one would do.

    ## Why is this slow?

    By default the step of Adam on a GPU is some ten kernels for each group of tensors (`foreach`), which read
    and write all parameters and both averages several times. `fused=True` does it in one pass. How much that
    gives is mixed, which is why this is a hint. Measured on an H200 with torch 2.11: the step of AdamW over
    200 small tensors took about 2.7 ms by default and 0.7 ms fused, but a whole training step of six encoder
    layers 15.2 and 14.2 ms. Reported elsewhere: 1 to 3% of a step of large models; more where many small
    steps are bound by launching kernels. With a gradient scaler it also spares a wait each step. In some
    releases it was slower than `foreach` for some shapes, so measure it.

    ## When it stays silent

    - when `fused`, `foreach`, `capturable` or `differentiable` is given, or may be in `**options`;
    - for single tensors and layers, and for what is not known to be a model's parameters;
    - for other optimizers: of SGD the default is nearly as fast, and many have no fused form;
    - in tests, and in a program that trains a model of its own and names no device at all.

    ## Fix safety

    Unsafe: results differ in the last bits, and all parameters must be floating-point tensors on a device for
    which there is a fused form (CUDA; CPU and MPS since torch 2.4).

    ## Sources

    - torch.optim, "Algorithms": for-loop, foreach and fused
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    - deepmodeling/deepmd-kit#4463 and pytorch/torchtitan#881: what it gave
    - pytorch/pytorch#101291 and #121857: where it was slower
    """

    code = "WL502"
    name = "optimizer-not-fused"
    wants = wants(calls={"torch.optim.Adam", "torch.optim.AdamW"})
    proof = Signature(At.STEP, Metric.KERNEL_TIME)
    risk = Risk.LOW
    severity = Severity.HINT
    since = TorchVersion(2, 0)

    fires = (
        Example(
            "The parameters of a model, as they are or in groups.",
            """\
import torch
from torch import optim


def train(model, loader, rate):
    model.cuda()
    optimizer = «optim.AdamW(model.parameters(), lr=rate)»
    for batch in loader:
        model(batch.cuda()).mean().backward()
        optimizer.step()


def setup(actor, critic, groups, device):
    actor.to(device)
    return «optim.Adam(list(actor.parameters()) + list(critic.parameters()))», «optim.AdamW(
        [{"params": groups, "weight_decay": 0.0}],
        lr=1e-4,
    )»
""",
            """\
import torch
from torch import optim


def train(model, loader, rate):
    model.cuda()
    optimizer = optim.AdamW(model.parameters(), lr=rate, fused=True)
    for batch in loader:
        model(batch.cuda()).mean().backward()
        optimizer.step()


def setup(actor, critic, groups, device):
    actor.to(device)
    return optim.Adam(list(actor.parameters()) + list(critic.parameters()), fused=True), optim.AdamW(
        [{"params": groups, "weight_decay": 0.0}],
        lr=1e-4,
        fused=True,
    )
""",
        ),
    )

    quiet = (
        Example(
            "A few steps in a test.",
            """\
import unittest

import torch


class TestTraining(unittest.TestCase):
    def test_one_step(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)).cuda()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(5):
            model(torch.rand(2, 4).cuda()).sum().backward()
            optimizer.step()
""",
        ),
        Example(
            "A program that trains a model of its own and names no device: it all stays on the CPU.",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x)


def train(model, optimizer, data):
    total = 0.0
    for x, y in data:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(y.numel())
    return total


def main(data):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for epoch in range(10):
        print(train(model, optimizer, data))


if __name__ == "__main__":
    main([(torch.rand(4, 3), torch.zeros(4, dtype=torch.long))])
""",
        ),
        Example(
            "Chosen already, or perhaps.",
            """\
import torch


def setup(model, options):
    model.cuda()
    first = torch.optim.Adam(model.parameters(), fused=True)
    second = torch.optim.Adam(model.parameters(), foreach=True)
    third = torch.optim.AdamW(model.parameters(), **options)
    return first, second, third
""",
        ),
        Example(
            "A single tensor or layer.",
            """\
import torch
from torch import nn


def fit(image, target):
    image = image.cuda().requires_grad_()
    optimizer = torch.optim.Adam([image], lr=0.1)
    layer = nn.Linear(10, 1).cuda()
    other = torch.optim.Adam(layer.parameters())
    return optimizer, other
""",
        ),
        Example(
            "Other optimizers, and a program that never leaves the CPU.",
            """\
import torch


def fit(model, loader):
    slow = torch.optim.Adam(model.parameters())
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        model(batch).mean().backward()
        plain.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if has_unpacking(node) or any(keyword(node, name) is not None for name in CHOICES):
            return None
        given = node.args[0] if node.args else keyword(node, "params")
        if given is None or not _are_of_model(given, facts):
            return None
        if _trains_on_cpu(node, facts) or stays_on_cpu(facts) or is_test(facts):
            return None
        return Verdict(
            node,
            f"`{last_name(node.func)}` passes over all parameters several times a step; `fused=True` does it "
            "once. Measure it: of a whole step it mostly gives 1 to 3%, of many small steps more.",
            Confidence.POSSIBLE,
            Applicability.UNSAFE,
            "Use the fused form",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        if not isinstance(node, cst.Call):
            return None
        return Rewrite(with_keyword(node, "fused", cst.Name("True")))


def _trains_on_cpu(node: ast.expr, facts: Facts) -> bool:
    """Whether the function around an optimizer, or the script, trains, and the file never moves anything."""
    function = facts.function(node)
    if function is not None and not any(
        isinstance(part, ast.Attribute) and part.attr == "backward" for part in below(function.node)
    ):
        return False
    # The file is asked last: what rests on it is judged again once its first tensor is moved.
    return facts.is_called("backward") and not facts.calls_any(MOVES)


def _are_of_model(given: ast.expr, facts: Facts) -> bool:
    """Whether what an optimizer is handed are the parameters of a model, and not of a single layer."""
    if isinstance(given, ast.Name):
        return PARAMETERS.fullmatch(given.id) is not None
    if isinstance(given, ast.List) and not any(isinstance(part, ast.Dict) for part in given.elts):
        return False
    for part in below(given):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in GIVERS:
            model = facts.value(part.func.value)
            is_table = last_name(part.func.value).endswith(TABLES)
            return not is_table and (model.kind is not Kind.MODULE or model.qualified not in SMALL)
    return any(isinstance(part, ast.Name) and PARAMETERS.fullmatch(part.id) for part in below(given))
