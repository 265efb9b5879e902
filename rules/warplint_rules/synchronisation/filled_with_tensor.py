from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import argument
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import (
    counts,
    host_waits,
    is_scalar,
    operand,
    position_after,
    waiting,
)

FILLS = {"masked_fill", "masked_fill_"}


class FilledWithTensor(Rule):
    """`masked_fill` gets its number as a GPU tensor, which it reads back.

    ## Why is this slow?

    `masked_fill` takes a number. Handed a GPU tensor of no dimensions it asks for its content, and the host
    stops until the GPU has done all work queued so far. Measured on an H200 with torch 2.11:
    `x.masked_fill(mask, tensor)` waits for the whole queue; with a Python number, and
    `torch.where(mask, tensor, x)`, it waits for nothing.

    ## When it stays silent

    - for Python numbers and CPU tensors;
    - outside code that runs every step, in set-up and in data sets;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the value is a GPU tensor of no dimensions.

    ## Fix safety

    There is no automatic fix: `torch.where(mask, value, x)` may give another element type than
    `masked_fill`. Where the types agree it is the same.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL218"
    name = "filled-with-device-tensor"
    wants = wants(methods=FILLS, calls={"torch.masked_fill"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "The smallest score put where the mask is.",
            """\
import torch
from torch import nn


class Scores(nn.Module):
    def forward(self, scores, mask):
        lowest = scores.min()
        return «scores.masked_fill(mask, lowest)»
""",
        ),
    )

    quiet = (
        Example(
            "Numbers, CPU tensors and `torch.where`.",
            """\
import torch
from torch import nn


class Scores(nn.Module):
    def forward(self, scores, mask, fill):
        first = scores.masked_fill(mask, float("-inf"))
        second = scores.masked_fill_(mask, torch.finfo(scores.dtype).min)
        third = scores.masked_fill(mask, torch.tensor(-1e4))
        fourth = torch.where(mask, scores.min(), scores)
        return first + second + third + fourth, scores.masked_fill(mask, fill)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not counts(node, facts):
            return None
        subject = operand(node, facts)
        value = argument(node, position_after(node, subject, 2), "value")
        if value is None or not is_scalar(facts.value(value)):
            return None
        return waiting(
            node,
            facts.value(value),
            f"`{short(node)}` {host_waits(node, facts)}, to read `{short(value)}`. Use "
            f"`torch.where(mask, {short(value)}, …)`.",
        )
