from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind
from warplint_rules._text import short
from warplint_rules.synchronisation._index import index_parts
from warplint_rules.synchronisation._waiting import counts, host_waits, is_scalar, waiting


class TensorAsPosition(Rule):
    """A GPU tensor of no dimensions is used as a position or bound of a subscript, in hot code.

    ## Why is this slow?

    `x[k]` and `x[:k]` select a part without a kernel, for which the host has to know the number: it stops
    until the GPU has done all work queued so far, and reads `k`. Measured on an H200 with torch 2.11: both
    wait for the whole queue; an index tensor of one dimension (`x[k[None]]`) waits for nothing.

    ## When it stays silent

    - for Python numbers, and index tensors of one dimension or more;
    - outside code that runs every step, in set-up and in data sets;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the index is a GPU tensor of no dimensions.

    ## Fix safety

    There is no automatic fix: the result has one dimension more. `x.index_select(0, k.view(1))` or
    `x[k.view(1)]` selects on the GPU. For a bound there is no form without a wait; a mask can stand for it.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL219"
    name = "tensor-as-position"
    wants = wants(subscripts=True)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "The best row of all, and all up to there.",
            """\
import torch
from torch import nn


class Best(nn.Module):
    def forward(self, x, scores):
        best = scores.argmax()
        return «x[best]», «x[:best]», «self.table[best]»
""",
        ),
    )

    quiet = (
        Example(
            "Indices of one dimension, numbers, and elements of a shape.",
            """\
import torch
from torch import nn


class Best(nn.Module):
    def forward(self, x, scores, count):
        best = scores.argmax(-1)
        for index in range(3):
            x = x + x[index] + x[:count]
        return x[best], x[: x.shape[0] // 2], x[scores.argmax().view(1)]
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if not isinstance(node, ast.Subscript) or not counts(node, facts):
            return None
        bounds = [bound for part in index_parts(node) for bound in _bounds(part)]
        found = next((bound for bound in bounds if is_scalar(facts.value(bound))), None)
        if found is None or facts.value(found).dtype == "torch.bool":
            return None
        held = facts.value(node.value).kind
        if held not in (Kind.TENSOR, Kind.SEQUENCE, Kind.UNKNOWN):
            return None
        return waiting(
            node,
            facts.value(found),
            f"`{short(node)}` {host_waits(node, facts)}, to read `{short(found)}`. {_advice(node)}",
        )


def _bounds(part: ast.expr) -> list[ast.expr]:
    if isinstance(part, ast.Slice):
        return [bound for bound in (part.lower, part.upper, part.step) if bound is not None]
    return [part]


def _advice(subscript: ast.Subscript) -> str:
    if any(isinstance(part, ast.Slice) for part in index_parts(subscript)):
        return "Work on the whole tensor and mask the rest."
    return "Index with a tensor of one dimension (`k.view(1)`): the GPU then selects."
