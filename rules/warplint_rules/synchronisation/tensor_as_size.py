from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Value
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

FACTORIES = {
    f"torch.{name}"
    for name in ("arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn")
} | {"torch.randperm", "torch.tril_indices", "torch.triu_indices", "torch.zeros"}
METHODS = {
    "expand", "narrow", "new_empty", "new_full", "new_ones", "new_zeros", "repeat", "reshape", "split",
    "tensor_split", "view",
}  # fmt: skip
BUILTINS = {"range"}
TOP = "topk"
"""Takes how many as its second argument, after the tensor; both as a function and as a method."""


class TensorAsSize(Rule):
    """A GPU tensor is given where PyTorch or Python needs a number, such as a size, in hot code.

    ## Why is this slow?

    Sizes, limits and fill values have to be known on the host before anything is queued: it stops until the
    GPU has done all work queued so far, and reads the tensor. Measured on an H200 with torch 2.11:
    `torch.arange(n)`, `torch.zeros(n)`, `torch.full(…, x)`, `x.expand(n, …)`, `x.split(…)` and `range(n)`
    with `n` on the GPU wait for the whole queue.

    ## When it stays silent

    - for Python numbers, shapes and CPU tensors;
    - outside code that runs every step, in set-up and in data sets;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the argument is a GPU tensor of no dimensions.

    ## Fix safety

    There is no automatic fix: the number has to be known on the host. Mostly a bound is known there (the
    padded length, the largest batch), and a mask does the rest: `torch.arange(longest) < n`.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL217"
    name = "tensor-as-size"
    wants = wants(calls=FACTORIES | {f"torch.{TOP}"}, methods=METHODS | {TOP}, builtins=BUILTINS)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A mask as wide as the longest sequence of the batch.",
            """\
import torch
from torch import nn


class Lengths(nn.Module):
    def forward(self, x, lengths: torch.Tensor):
        steps = «torch.arange(lengths.max(), device=x.device)»
        for step in «range(lengths.min())»:
            x = x + step
        return steps[None] < lengths[:, None], «x.new_zeros(3, lengths.max())»
""",
        ),
        Example(
            "As many of the best as was worked out for each row: each row waits.",
            """\
import torch
from torch import nn


class Match(nn.Module):
    def forward(self, cost: torch.Tensor, overlaps: torch.Tensor):
        many = overlaps.sum(1).int().clamp(min=1)
        best = [«torch.topk(cost[row], k=many[row], largest=False)».indices for row in range(len(cost))]
        return best, «cost[0].topk(many.max())».values
""",
        ),
    )

    quiet = (
        Example(
            "Shapes, numbers and bounds.",
            """\
import torch
from torch import nn


class Lengths(nn.Module):
    def forward(self, x, lengths, n):
        steps = torch.arange(x.shape[1], device=x.device)
        other = torch.zeros(len(lengths), n, x.size(-1), device=x.device)
        best = torch.topk(x, 3, dim=1).values, x.topk(k=n), torch.topk(x, min(n, x.shape[1]))
        return steps[None] < lengths[:, None], other, x.view(-1, n), torch.full((3,), 2.0), best
""",
        ),
        Example(
            "Lengths on the CPU.",
            """\
import torch


def train(model, loader, optimizer):
    for images in loader:
        lengths = torch.tensor([3, 4])
        places = torch.arange(lengths.max(), device="cuda")
        model(images.cuda(), places).mean().backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        # Numbers written out are told first: nothing need be evaluated for them.
        top = last_name(node.func) == TOP
        given = _top(node, facts) if top else _sizes(node)
        sizes = [part for part in given if not _is_written_out(part)]
        if not sizes or not counts(node, facts):
            return None
        if _is_method(node) and not _receiver(node, facts).is_tensor:
            return None
        # How many to take can only be one number.
        found = next(
            (part for part in sizes if is_scalar(facts.value(part)) or (top and _is_there(part, facts))), None
        )
        if found is None:
            return None
        return waiting(
            node,
            facts.value(found),
            f"`{short(node)}` {host_waits(node, facts)}, to read `{short(found)}`. Use a bound that the host "
            "knows, and a mask.",
        )


def _top(call: ast.Call, facts: Facts) -> list[ast.expr]:
    """How many of the largest are asked for, if it is not left out."""
    many = argument(call, position_after(call, operand(call, facts), 1), "k")
    return [] if many is None else [many]


def _is_there(size: ast.expr, facts: Facts) -> bool:
    value = facts.value(size)
    return value.is_tensor and value.on_accelerator


def _is_written_out(size: ast.expr) -> bool:
    """Whether a size is a literal, ``-1`` among them."""
    return isinstance(size.operand if isinstance(size, ast.UnaryOp) else size, ast.Constant)


def _is_method(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in METHODS


def _receiver(call: ast.Call, facts: Facts) -> Value:
    assert isinstance(call.func, ast.Attribute)
    return facts.value(call.func.value)


def _sizes(call: ast.Call) -> list[ast.expr]:
    """The arguments, and the parts of a size that is written as a tuple or list."""
    given = [*call.args, *(named.value for named in call.keywords)]
    return [
        part
        for argument in given
        for part in (argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument])
    ]
