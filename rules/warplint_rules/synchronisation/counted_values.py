from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.waits import COUNTED
from warplint_rules._calls import argument, has_unpacking
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import (
    counts,
    goes_to_the_host,
    host_waits,
    operand,
    position_after,
    waiting,
)


class CountedValuesInHotCode(Rule):
    """Values of a GPU tensor are counted or told apart by a call that asks the GPU how large its result is.

    ## Why is this slow?

    `unique`, `bincount`, `histc` without limits, `isin` and a few others allocate by what the data holds: the
    host stops until the GPU has done all work queued so far, and reads it. Measured on an H200 with torch
    2.11: each waits for the whole queue, `bincount` even with `minlength`; `scatter_add_` into zeros, `histc`
    with `min` and `max` and a broadcast comparison wait for nothing.

    ## When it stays silent

    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors, NumPy arrays, and batches of a loader that nothing moves;
    - for `histc` with `min` and `max`;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when Python reads the result at once: it would wait anyway.

    ## Fix safety

    There is no automatic fix: each alternative needs a length or a limit that the code does not name.

    ## Sources

    - documentation of `torch.bincount` and `torch.unique`
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL215"
    name = "counted-values-in-hot-code"
    wants = wants(calls={f"torch.{name}" for name in COUNTED}, methods=COUNTED)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Class weights counted from each batch, and the classes in it.",
            """\
import torch
from torch import nn


class Weighted(nn.Module):
    def forward(self, logits, labels):
        count = «torch.bincount(labels, minlength=10)»
        for_all = «logits.argmax(-1).unique()»
        return logits / count, for_all, «torch.histc(logits, bins=10)»
""",
        ),
    )

    quiet = (
        Example(
            "Figures of a data set, worked out of batches as the loader gives them.",
            """\
import torch


def degrees(loader):
    counts = []
    for batch in loader:
        _, receivers = batch.edge_index
        _, count = torch.unique(receivers, return_counts=True)
        counts.append(count)
    return torch.cat(counts).float().mean()
""",
        ),
        Example(
            "Lengths and limits that are known.",
            """\
import torch
from torch import nn


class Weighted(nn.Module):
    def forward(self, logits, labels):
        count = logits.new_zeros(10).scatter_add_(0, labels, torch.ones_like(labels))
        return count, torch.histc(logits, bins=10, min=0, max=1), logits.histc(10, 0, 1)
""",
        ),
        Example(
            "On the host, and in the data.",
            """\
import numpy as np
import torch
from torch.utils.data import Dataset


class Labels(Dataset):
    def __getitem__(self, index):
        return torch.unique(torch.as_tensor(self.labels[index]))


def train(model, loader, optimizer):
    for images, labels in loader:
        present = np.unique(np.asarray(labels))
        model(images.cuda()).mean().backward()
        optimizer.step()
        yield present
""",
        ),
        Example(
            "Python needs them.",
            """\
import torch
from torch import nn


class Present(nn.Module):
    def forward(self, labels):
        return labels.unique().tolist()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if has_unpacking(node) or not counts(node, facts):
            return None
        subject = operand(node, facts)
        if subject is None or not facts.value(subject).on_accelerator or goes_to_the_host(node, facts):
            return None
        name = (facts.qualified(node.func) or last_name(node)).rpartition(".")[2]
        if name == "histc" and argument(node, position_after(node, subject, 3), "max") is not None:
            return None
        wait = COUNTED[name]
        return waiting(
            node,
            facts.value(subject),
            f"`{short(node)}` {host_waits(node, facts)}, to learn {wait.reads}. {wait.instead}",
        )
