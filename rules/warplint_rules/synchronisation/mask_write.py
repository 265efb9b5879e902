from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind
from warplint_rules._text import short
from warplint_rules.synchronisation._index import index_parts, indexed, is_positions, masks
from warplint_rules.synchronisation._waiting import counts, waiting


class MaskedWriteInHotCode(Rule):
    """Tensors are written into a GPU tensor under a boolean mask in code that runs every step.

    ## Why is this slow?

    `x[mask] = tensor` is carried out with the positions that `mask.nonzero()` finds, and how many those are
    the host must know: it stops until the GPU has done all work queued so far. `x[mask] += …` does so twice,
    to read and to write. Measured on an H200 with torch 2.11: both wait for the whole queue. A Python number
    is different: `x[mask] = 0.0` becomes `masked_fill_` and waits for nothing.

    ## When it stays silent

    - where a Python number is written;
    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors and CPU masks (they cost no wait since torch 2.9), and NumPy arrays;
    - for integer indices;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell what is written.

    ## Fix safety

    There is no automatic fix: whether the mask has the shape of the tensor, and whether other names share
    the tensor's memory, is not written in the code. `x = torch.where(mask, y, x)` says the same as
    `x[mask] = y[mask]` without a wait; for `x[mask] *= 2` it is `torch.where(mask, x * 2, x)`, and for values
    that are packed one after the other `x.masked_scatter_(mask, values)`.

    ## Sources

    - vllm-project/vllm#16436 and huggingface/transformers#47703: masked writes replaced
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL203"
    name = "masked-write-in-hot-code"
    wants = wants(subscripts=True)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A learned token put where the input is masked.",
            """\
import torch
from torch import nn


class Masking(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(width))

    def forward(self, x, mask):
        «x[mask]» = self.token
        return x
""",
        ),
        Example(
            "In place under a mask: read and written, even with a number.",
            """\
import torch


def train(model, loader, optimizer):
    for images, labels in loader:
        error = (model(images.cuda()) - labels.cuda()).abs()
        «error[error > 1.0]» *= 0.5
        error.mean().backward()
        optimizer.step()
""",
        ),
        Example(
            "Rows of the batch that took another way.",
            """\
import torch
from torch import nn


class Routed(nn.Module):
    def forward(self, x, result):
        late = x.sum(-1) > 0
        result = torch.zeros_like(x)
        «result[late]» = self.deep(x[late])
        return result
""",
        ),
    )

    quiet = (
        Example(
            "A Python number: this is a `masked_fill_`.",
            """\
import torch
from torch import nn


class Masking(nn.Module):
    def forward(self, scores, mask):
        scores[mask] = float("-inf")
        scores[:, 0][scores[:, 0] < 0] = 0
        scores[scores == 7, 0] = -1
        return scores
""",
        ),
        Example(
            "The whole tensor by `torch.where`.",
            """\
import torch
from torch import nn


class Masking(nn.Module):
    def forward(self, x, y, mask):
        return torch.where(mask, y, x)
""",
        ),
        Example(
            "Rows by number, slices and attributes of containers.",
            """\
import torch
from torch import nn


class Rows(nn.Module):
    def forward(self, x, y):
        rows = y.argmax(-1)
        x[rows] = y
        x[:, 1:] = y
        self.cache["mask"] = y
        return x
""",
        ),
        Example(
            "What is written may be a number.",
            """\
import torch
from torch import nn


class Masking(nn.Module):
    def forward(self, scores, mask):
        scores[mask] = self.config.fill
        return scores
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
            return None
        statement = facts.parent(node)
        if not isinstance(statement, ast.Assign | ast.AugAssign) or not counts(node, facts):
            return None
        if not masks(node, facts) or not _needs_positions(node, statement, facts):
            return None
        written = indexed(node, facts)
        if written is None:
            return None
        twice = " twice" if isinstance(statement, ast.AugAssign) else ""
        return waiting(
            node,
            written,
            f"Writing `{short(node)}` makes the host wait{twice} {facts.why_hot(node)} for all the work "
            f"queued on the GPU, to learn how many elements that are. {_advice(statement)}",
        )


def _needs_positions(node: ast.Subscript, statement: ast.Assign | ast.AugAssign, facts: Facts) -> bool:
    """Whether the write is more than a ``masked_fill_``."""
    if isinstance(statement, ast.AugAssign):
        return True
    written = facts.value(statement.value)
    if written.kind is Kind.TENSOR:
        # A CPU tensor of no dimensions is taken as a number.
        return not (written.ndim == 0 and not written.on_accelerator)
    if written.kind is Kind.NUMBER:
        return any(is_positions(part, facts) for part in index_parts(node))
    return written.kind is Kind.UNKNOWN and _picks_alike(statement.value, node)


def _picks_alike(written: ast.expr, node: ast.Subscript) -> bool:
    """Whether what is written is computed from elements that the same mask picks."""
    index = ast.dump(node.slice)
    return any(
        isinstance(part, ast.Subscript) and ast.dump(part.slice) == index for part in ast.walk(written)
    )


def _advice(statement: ast.Assign | ast.AugAssign) -> str:
    if isinstance(statement, ast.AugAssign):
        return "`torch.where` over the whole tensor does not wait."
    return "`torch.where`, or `masked_scatter_` for packed values, does not wait."
