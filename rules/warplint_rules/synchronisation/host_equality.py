from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, operand, waiting

COMPARISONS = {"allclose", "equal", "is_nonzero"}


class HostEquality(Rule):
    """Whole GPU tensors are compared for a Python truth value in code that runs every step.

    ## Why is this slow?

    `torch.equal`, `torch.allclose` and `torch.is_nonzero` give a Python `bool`, so the host stops until the
    GPU has done all work queued so far and answers. Measured on an H200 with torch 2.11: each waits for the
    whole queue; `(x == y).all()`, which gives a tensor, waits for nothing.

    ## When it stays silent

    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors and NumPy arrays;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the operands are tensors.

    ## Fix safety

    There is no automatic fix: what the answer decides has to be decided on the GPU instead, with
    `torch.where`, or checked every N steps. For an assertion there is `torch._assert_async`.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL213"
    name = "host-equality-in-hot-code"
    wants = wants(calls={f"torch.{name}" for name in COMPARISONS}, methods=COMPARISONS)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A check of the input in each forward pass.",
            """\
import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, query, key):
        if «torch.equal(query, key)»:
            return self.shared(query)
        assert not «key.allclose(query)»
        return query @ key.mT
""",
        ),
    )

    quiet = (
        Example(
            "Element by element, and the same object.",
            """\
import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, query, key):
        same = torch.eq(query, key).all()
        if query is key:
            return query
        return torch.where(same, query, key)
""",
        ),
        Example(
            "CPU tensors and arrays.",
            """\
import numpy as np
import torch


def train(model, loader, optimizer):
    for images in loader:
        sizes = torch.tensor([1, 2])
        if torch.equal(sizes, torch.tensor([1, 2])) and np.allclose(np.ones(3), 1):
            continue
        model(images.cuda()).mean().backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not counts(node, facts):
            return None
        compared = [operand(node, facts), *node.args]
        values = [facts.value(part) for part in compared if part is not None]
        read = next((value for value in values if value.on_accelerator), None)
        if read is None or any(value.on_cpu for value in values):
            return None
        return waiting(
            node,
            read,
            f"`{short(node)}` {host_waits(node, facts)}, for one truth value. Compare on the GPU "
            "(`(x == y).all()`) and decide there with `torch.where`, or check every N steps.",
        )
