from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability
from warplint.static.parsing.tree import dotted
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind
from warplint_rules._text import short
from warplint_rules.synchronisation._index import indexed, masks, positions
from warplint_rules.synchronisation._waiting import counts, waiting

if TYPE_CHECKING:
    import libcst as cst


class NumberWrittenAtIndex(Rule):
    """A Python number is written at positions that a tensor holds, in code that runs every step.

    ## Why is this slow?

    For `x[index] = 1.0` PyTorch makes a CPU tensor of the number and copies it to the GPU from pageable
    memory, which the host waits for, with all the work queued before. Measured on an H200 with torch 2.11:
    it waits for the whole queue; `x[index] = x.new_full((), 1.0)` and `x.index_fill_(0, index, 1.0)` wait
    for nothing.

    ## When it stays silent

    - for a boolean mask (`x[mask] = 0.0` becomes `masked_fill_`), for slices and for Python numbers as index;
    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors, NumPy arrays and containers;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the index is a tensor of integers.

    ## Fix safety

    The fix writes `x.new_full((), 1.0)`: the same number, in the element type and on the device of `x`. It is
    safe. It is made only where what is indexed is a name or an attribute that is surely a tensor.

    ## Sources

    - vllm-project/vllm#51738: numbers written at indices, found by a run-time check
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL204"
    name = "number-written-at-index"
    wants = wants(subscripts=True)
    proof = Signature(At.LINE, Metric.PAGEABLE_COPY)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Labels written as ones.",
            """\
import torch
from torch import nn


class Targets(nn.Module):
    def forward(self, logits):
        best = logits.argmax(-1)
        target = torch.zeros_like(logits)
        target[best] = «1.0»
        return target
""",
            """\
import torch
from torch import nn


class Targets(nn.Module):
    def forward(self, logits):
        best = logits.argmax(-1)
        target = torch.zeros_like(logits)
        target[best] = target.new_full((), 1.0)
        return target
""",
        ),
        Example(
            "Positions in two dimensions.",
            """\
import torch


def train(model, loader, optimizer):
    for images, labels in loader:
        logits = model(images.cuda())
        rows = torch.arange(len(images), device=logits.device)
        logits = logits.clone()
        logits[rows, logits.argmax(1)] = «-1e4»
        logits.logsumexp(1).mean().backward()
        optimizer.step()
""",
            """\
import torch


def train(model, loader, optimizer):
    for images, labels in loader:
        logits = model(images.cuda())
        rows = torch.arange(len(images), device=logits.device)
        logits = logits.clone()
        logits[rows, logits.argmax(1)] = logits.new_full((), -1e4)
        logits.logsumexp(1).mean().backward()
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "A boolean mask, a slice, a number as index.",
            """\
import torch
from torch import nn


class Targets(nn.Module):
    def forward(self, logits, mask):
        logits[mask] = 0.0
        logits[logits < 0] = 0.0
        logits[:, 1:3] = 0.0
        for index in range(3):
            logits[index] = 1.0
        return logits
""",
        ),
        Example(
            "A tensor is written.",
            """\
import torch
from torch import nn


class Targets(nn.Module):
    def forward(self, logits, values):
        best = logits.argmax(-1)
        logits[best] = values
        logits[best] = logits.new_full((), 1.0)
        return logits
""",
        ),
        Example(
            "A tensor on the CPU, and a list.",
            """\
import torch


def train(model, loader, optimizer):
    for images, labels in loader:
        seen = torch.zeros(10)
        seen[torch.randperm(10)[:3]] = 1.0
        chosen = [0] * 10
        chosen[int(labels[0])] = 1
        loss = model(images.cuda()).mean()
        loss.backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
            return None
        statement = facts.parent(node)
        if not isinstance(statement, ast.Assign) or not counts(node, facts):
            return None
        if facts.value(statement.value).kind is not Kind.NUMBER:
            return None
        written = indexed(node, facts)
        if written is None or masks(node, facts) or not positions(node, facts):
            return None
        can_fix = (
            facts.value(node.value).kind is Kind.TENSOR
            and dotted(node.value) is not None
            and len(statement.targets) == 1
        )
        return waiting(
            statement.value,
            written,
            f"`{short(statement)}` copies the number to the GPU {facts.why_hot(node)}, and the host waits "
            "for all the work queued before. Write a tensor that is there: "
            f"`{short(node.value)}.new_full((), {short(statement.value)})`.",
            Applicability.SAFE if can_fix else Applicability.NONE,
            "Write the number as a tensor on the GPU",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        statement = facts.parent(site)
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)
        build = cst.parse_expression(f"{dotted(statement.targets[0].value)}.new_full((), value)")
        assert isinstance(build, cst.Call)
        return Rewrite(build.with_changes(args=[build.args[0], build.args[1].with_changes(value=node)]))
