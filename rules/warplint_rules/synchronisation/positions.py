from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._text import short
from warplint_rules.synchronisation._experts import is_in_expert_loop
from warplint_rules.synchronisation._waiting import counts, goes_to_the_host, host_waits, operand, waiting

SEARCHES = {"argwhere", "nonzero"}


class PositionsInHotCode(Rule):
    """The positions of non-zero elements of a GPU tensor are looked up in code that runs every step.

    ## Why is this slow?

    How many positions `nonzero`, `argwhere` and `torch.where` with one argument find is not known before the
    GPU has looked, so the host stops until all work queued so far is done. Measured on an H200 with torch
    2.11: each waits for the whole queue; `torch.where(mask, x, y)` and `torch.nonzero_static` wait for
    nothing.

    ## When it stays silent

    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors and NumPy arrays;
    - for `torch.where` with three arguments and for `nonzero_static`;
    - when Python reads the positions at once: it would wait anyway;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - in a loop over experts: that is another rule's finding (`expert-loop`).

    ## Fix safety

    There is no automatic fix: what the positions are for decides it. `x[cond.nonzero()]` is better written
    with `torch.where` over the whole tensor; the first position is `cond.int().argmax()`; the number of
    positions is `cond.sum()`; at most k of them are `cond.int().topk(k)` or, since torch 2.7 on the GPU,
    `torch.nonzero_static`.

    ## Sources

    - documentation of `torch.nonzero` and `torch.argwhere`: both synchronize on CUDA
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL205"
    name = "positions-in-hot-code"
    wants = wants(calls={"torch.argwhere", "torch.nonzero", "torch.where"}, methods=SEARCHES)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Foreground anchors in a detection loss.",
            """\
import torch
from torch import nn


class Assigner(nn.Module):
    def forward(self, overlaps, scores):
        chosen = «torch.nonzero(overlaps > 0.5, as_tuple=False)».squeeze(1)
        rows, columns = «torch.where(overlaps < 0.1)»
        return scores[chosen], scores[rows], «(scores > 0).nonzero()»
""",
        ),
        Example(
            "Sequences that go on, in a decoding loop.",
            """\
import torch


@torch.no_grad()
def generate(model, ids, end):
    for _ in range(100):
        following = model(ids).argmax(-1)
        open_rows = «torch.argwhere(following != end)»
        ids = torch.cat([ids[open_rows[:, 0]], following[open_rows]], dim=1)
    return ids
""",
        ),
    )

    quiet = (
        Example(
            "The condition decides elements of one shape.",
            """\
import torch
from torch import nn


class Select(nn.Module):
    def forward(self, x, y):
        return torch.where(x > 0, x, y)
""",
        ),
        Example(
            "NumPy arrays and CPU tensors.",
            """\
import numpy as np
import torch


def train(model, loader, optimizer):
    for images, weights in loader:
        kept = np.nonzero(np.asarray(weights))
        rows = (torch.arange(10) > 3).nonzero()
        loss = model(images.cuda()).mean() * len(kept) * len(rows)
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "The positions are wanted on the host.",
            """\
import torch
from torch import nn


class Detector(nn.Module):
    def forward(self, scores):
        return (scores > 0.5).nonzero().tolist()
""",
        ),
        Example(
            "Once, to look at the data.",
            """\
import torch


def describe(labels):
    return torch.nonzero(labels.cuda() > 0)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if facts.qualified(node.func) == "torch.where" and len(node.args) + len(node.keywords) != 1:
            return None
        if not counts(node, facts) or is_in_expert_loop(node, facts):
            return None
        searched = operand(node, facts)
        if searched is None or not facts.value(searched).on_accelerator or _is_read(node, facts):
            return None
        return waiting(
            node,
            facts.value(searched),
            f"`{short(node)}` {host_waits(node, facts)}, to "
            "learn how many positions there are. Work on the whole tensor with `torch.where`.",
        )


def _is_read(node: ast.Call, facts: Facts) -> bool:
    """Whether Python reads the positions, as they are or reshaped."""
    uses = facts.uses(node)
    nexts = [use.node for use in uses if isinstance(use.node, ast.Call) and use.node is not node]
    return goes_to_the_host(node, facts) or (
        len(uses) == 1 and len(nexts) == 1 and goes_to_the_host(nexts[0], facts)
    )
