from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind
from warplint_rules._text import short
from warplint_rules.synchronisation._index import index_parts
from warplint_rules.synchronisation._waiting import counts, host_waits, waiting


class ListAsIndex(Rule):
    """A GPU tensor is indexed with a Python list in code that runs every step.

    ## Why is this slow?

    PyTorch makes a CPU tensor of the list and copies it to the GPU from pageable memory, which the host waits
    for, with all the work queued before. Measured on an H200 with torch 2.11: `x[[1, 2]]` and `x[:, [1, 2]]`
    wait for the whole queue, read or written; an index tensor on the GPU and slices wait for nothing.

    ## When it stays silent

    - for slices, numbers and index tensors;
    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors, NumPy arrays and data frames;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that what is indexed is a GPU tensor.

    ## Fix safety

    There is no automatic fix. Neighbouring columns are a slice (`x[:, 1:3]`), evenly spaced ones a slice with
    a step, the reverse is `x.flip(-1)`; two far ones are `torch.stack((x[:, 0], x[:, 7]), 1)`. Else keep the
    positions as a buffer of the module.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL220"
    name = "list-as-index"
    wants = wants(subscripts=True)
    proof = Signature(At.LINE, Metric.PAGEABLE_COPY)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Columns of boxes put in another order.",
            """\
import torch
from torch import nn


class Boxes(nn.Module):
    def forward(self, x):
        turned = «x[:, [1, 0, 3, 2]]»
        «turned[..., [0, 2]]» = 0.0
        return turned
""",
        ),
    )

    quiet = (
        Example(
            "Slices, numbers and what is no tensor.",
            """\
import numpy as np
import torch
from torch import nn


class Boxes(nn.Module):
    def forward(self, x, table):
        frame = np.asarray(table)[:, [1, 0]]
        return x[:, 1:3], x[:, 0], frame, x[[None]], x[[slice(2), slice(3)]]
""",
        ),
        Example(
            "A tensor on the CPU.",
            """\
import torch


def train(model, loader, optimizer):
    for images in loader:
        table = torch.arange(10)[[1, 2]]
        loss = model(images.cuda()).mean() * len(table)
        loss.backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if not isinstance(node, ast.Subscript):
            return None
        parts = index_parts(node)
        if not any(isinstance(part, ast.List) for part in parts) or not counts(node, facts):
            return None
        held = facts.value(node.value)
        if not held.on_accelerator or not any(_is_positions(part, facts) for part in parts):
            return None
        return waiting(
            node,
            held,
            f"`{short(node)}` copies the list to the GPU, which {host_waits(node, facts)}. Use slices, or "
            "keep the positions in a buffer.",
        )


def _is_positions(part: ast.expr, facts: Facts) -> bool:
    """Whether a part is a list of numbers, not one of slices."""
    if not isinstance(part, ast.List) or not part.elts:
        return False
    return all(facts.value(element).kind is Kind.NUMBER for element in part.elts)
