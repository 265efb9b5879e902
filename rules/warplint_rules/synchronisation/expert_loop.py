from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Value
from warplint_rules._calls import argument
from warplint_rules._text import short
from warplint_rules.synchronisation._experts import is_in_expert_loop
from warplint_rules.synchronisation._waiting import counts, operand, waiting

LOOKS = {"argwhere", "nonzero", "where"}


class ExpertLoop(Rule):
    """Tokens are looked up for one expert after the other, each with a wait for the GPU.

    ## Why is this slow?

    In a mixture of experts, `torch.where(chosen == expert)` for each expert reads back how many tokens it
    got: the host waits once for each expert of each layer, and the GPU gets its work in small pieces.
    Measured on an H200 with torch 2.11: each such look-up waits for the whole queue. Reported elsewhere: 1.2
    to 1.5 times faster without it.

    ## When it stays silent

    - outside a loop over experts, and outside code that runs every step;
    - where the counts are read once a layer, before the loop (`tokens_per_expert.tolist()`);
    - in tests, and in a program that trains a model of its own and names no device at all;
    - for CPU tensors.

    ## Fix safety

    There is no automatic fix: it is another way to compute. Sort the tokens by expert once
    (`argsort`, `bincount`), read all counts with one `.tolist()`, and `split`; or use a grouped matrix
    product (`torch._grouped_mm`) that needs no counts on the host.

    ## Sources

    - jingyaogong/minimind#835 and #837: three waits an expert and layer
    - huggingface/transformers#38133: loops over experts
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL223"
    name = "expert-loop"
    wants = wants(calls={f"torch.{name}" for name in LOOKS}, methods={"nonzero", "argwhere"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.HIGH

    fires = (
        Example(
            "One look-up an expert.",
            """\
import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(count))

    def forward(self, x, chosen):
        result = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            rows, ranks = «torch.where(chosen == index)»
            result.index_add_(0, rows, expert(x[rows]))
        return result
""",
        ),
    )

    quiet = (
        Example(
            "The counts are read once, and the tokens split.",
            """\
import torch
from torch import nn


class Experts(nn.Module):
    def forward(self, x, counts: torch.Tensor):
        parts = x.split(counts.tolist())
        return torch.cat([expert(part) for expert, part in zip(self.experts, parts)])
""",
        ),
        Example(
            "Positions outside a loop over experts.",
            """\
import torch
from torch import nn


class Routing(nn.Module):
    def forward(self, x, expert_mask):
        rows = torch.nonzero(expert_mask)
        for index in range(3):
            x = torch.where(expert_mask == index, x, 0.0)
        return x[rows]
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not _looks(node) or not counts(node, facts):
            return None
        if not is_in_expert_loop(node, facts):
            return None
        searched = operand(node, facts)
        read: Value | None = facts.value(searched) if searched is not None else None
        if read is None or not read.on_accelerator:
            return None
        return waiting(
            node,
            read,
            f"`{short(node)}` makes the host wait once for each expert {facts.why_hot(node)}. Sort the "
            "tokens by expert, and read all counts with one `.tolist()` a layer, or use a grouped matrix "
            "product.",
        )


def _looks(call: ast.Call) -> bool:
    is_where = isinstance(call.func, ast.Attribute) and call.func.attr == "where"
    return not is_where or (len(call.args) + len(call.keywords) == 1 and argument(call, 0) is not None)
