from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Value
from warplint_rules._calls import argument
from warplint_rules._text import short
from warplint_rules.synchronisation._index import indexed, masks
from warplint_rules.synchronisation._waiting import (
    counts,
    goes_to_the_host,
    host_waits,
    operand,
    position_after,
    waiting,
)


class MaskedReadInHotCode(Rule):
    """Elements of a GPU tensor are picked with a boolean mask in code that runs every step.

    ## Why is this slow?

    How many elements `x[mask]` has depends on what the mask holds, and PyTorch needs that number to allocate
    the result. So the host stops until the GPU has done all work queued so far, runs a `nonzero`, and only
    then goes on. Measured on an H200 with torch 2.11: `x[mask]`, `x[rows]` and `torch.masked_select` wait
    for the whole queue; `torch.where(mask, x, y)` waits for nothing.

    ## When it stays silent

    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors and CPU masks (they cost no wait since torch 2.9), NumPy arrays and dictionaries;
    - for integer indices, which cost no wait;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when Python reads the selected elements at once: it would wait anyway.

    ## Fix safety

    There is no automatic fix: the result has another shape. In a sum or mean, multiply by the mask instead
    (`(loss * mask).sum() / mask.sum()`); elsewhere keep the shape with `torch.where`, or pass
    `ignore_index` or `weight` to the loss. Packing tokens once per batch for attention without padding is a
    deliberate wait: suppress it there.

    ## Sources

    - pytorch/pytorch#12461: indexing with a mask synchronizes
    - vllm-project/vllm#16436 and huggingface/trl#4956: masks replaced by `torch.where`
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL202"
    name = "masked-read-in-hot-code"
    wants = wants(calls={"torch.masked_select"}, methods={"masked_select"}, subscripts=True)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "The loss of the valid elements only, where multiplying by the mask keeps the shape.",
            """\
import torch
from torch import nn


class MaskedLoss(nn.Module):
    def forward(self, predicted, target, mask):
        valid = target > 0
        error = (predicted - target).abs()
        return «error[valid]».mean() + «torch.masked_select(error, mask)».sum()
""",
        ),
        Example(
            "A mask over one dimension, and one turned round.",
            """\
import torch


def train(model, loader, optimizer):
    for images, labels in loader:
        output = model(images.cuda())
        labels = labels.cuda()
        known = labels != -1
        loss = «output[known]».square().sum() + «output[:, ~known]».abs().sum()
        loss.backward()
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "The shape is kept.",
            """\
import torch
from torch import nn


class MaskedLoss(nn.Module):
    def forward(self, predicted, target):
        valid = target > 0
        error = (predicted - target).abs()
        return torch.where(valid, error, 0.0).sum() / valid.sum()
""",
        ),
        Example(
            "Integer indices, dictionaries, slices and NumPy arrays.",
            """\
import numpy as np
import torch
from torch import nn


class Gather(nn.Module):
    def __init__(self):
        super().__init__()
        self.block_masks = {}

    def forward(self, x, key, points):
        best = x.argmax(-1)
        kept = np.asarray(points) > 0
        return x[best], x[best, :3], self.block_masks[key], np.asarray(points)[kept]
""",
        ),
        Example(
            "The elements are wanted on the host.",
            """\
import torch
from torch import nn


class Detector(nn.Module):
    def forward(self, scores):
        keep = scores > 0.5
        return scores[keep].tolist()
""",
        ),
        Example(
            "A data set works on the CPU.",
            """\
import torch
from torch.utils.data import Dataset


class Points(Dataset):
    def __getitem__(self, index):
        points = torch.as_tensor(self.points[index])
        return points[points[:, 0] > 0]
""",
        ),
        Example(
            "A mask that was built on the CPU.",
            """\
import torch


def train(model, loader, optimizer):
    for images in loader:
        drop = torch.rand(16) < 0.5
        loss = model(images.cuda())[drop].mean()
        loss.backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if not counts(node, facts):
            return None
        read = _read(node, facts)
        if read is None or goes_to_the_host(node, facts):
            return None
        return waiting(
            node,
            read,
            f"`{short(node)}` {host_waits(node, facts)}, "
            "to learn how many elements are picked. Keep the shape: `torch.where`, or multiply by the mask.",
        )


def _read(node: ast.expr, facts: Facts) -> Value | None:
    """The GPU tensor that is read by mask, if the node does that."""
    if isinstance(node, ast.Subscript):
        read = isinstance(node.ctx, ast.Load) and masks(node, facts)
        return indexed(node, facts) if read else None
    assert isinstance(node, ast.Call)
    subject = operand(node, facts)
    mask = argument(node, position_after(node, subject, 1), "mask")
    if subject is None or mask is None or not facts.value(mask).on_accelerator:
        return None
    return facts.value(subject) if facts.value(subject).on_accelerator else None
