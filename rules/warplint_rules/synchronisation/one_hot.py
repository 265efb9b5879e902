from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import argument, has_unpacking
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, waiting

UNKNOWN_NUMBER = -1
"""The default of ``num_classes``: one more than the largest class there is."""


class OneHotWithoutClasses(Rule):
    """`one_hot` is not told how many classes there are, so it asks the GPU for the largest one.

    ## Why is this slow?

    The result has as many columns as the largest class number plus one. To allocate it, the host stops until
    all work queued so far is done and reads that number. Measured on an H200 with torch 2.11: it waits for
    the whole queue, and for nothing with `num_classes`. Besides, a batch without the last class gives a
    result of another shape.

    ## When it stays silent

    - with `num_classes`;
    - outside code that runs every step, in set-up and in data sets;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - for CPU tensors.

    ## Fix safety

    There is no automatic fix: the number of classes is the model's. Pass it as `num_classes=`.

    ## Sources

    - documentation of `torch.nn.functional.one_hot`: the default of `num_classes`
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL207"
    name = "one-hot-without-classes"
    wants = wants(calls={"torch.nn.functional.one_hot"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "Labels turned into targets in the loss.",
            """\
import torch
import torch.nn.functional as F
from torch import nn


class Dice(nn.Module):
    def forward(self, logits, labels):
        target = «F.one_hot(labels.long())»
        chosen = «F.one_hot(logits.argmax(-1), num_classes=-1)»
        return 1 - (logits.softmax(-1) * target).mean() - (chosen * target).sum()
""",
        ),
    )

    quiet = (
        Example(
            "The number of classes is given.",
            """\
import torch
import torch.nn.functional as F
from torch import nn


class Dice(nn.Module):
    def forward(self, logits, labels, options):
        first = F.one_hot(labels, logits.shape[-1])
        second = F.one_hot(labels, num_classes=logits.shape[-1])
        return first, second, F.one_hot(labels, **options)
""",
        ),
        Example(
            "Labels on the CPU.",
            """\
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset


class Labels(Dataset):
    def __getitem__(self, index):
        return F.one_hot(torch.tensor(self.labels[index]))
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if has_unpacking(node) or _knows_classes(node) or not counts(node, facts):
            return None
        labels = argument(node, 0, "tensor", "input")
        if labels is None or not facts.value(labels).on_accelerator:
            return None
        return waiting(
            node,
            facts.value(labels),
            f"`{short(node)}` {host_waits(node, facts)}, to read the largest class. Pass `num_classes=`.",
        )


def _knows_classes(call: ast.Call) -> bool:
    given = argument(call, 1, "num_classes")
    if given is None:
        return False
    try:
        return bool(ast.literal_eval(given) != UNKNOWN_NUMBER)
    except (ValueError, TypeError):
        return True
