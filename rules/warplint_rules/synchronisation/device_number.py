from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind, Place
from warplint_rules._calls import has_unpacking, keyword
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits

if TYPE_CHECKING:
    import libcst as cst

FROM_PYTHON = {"torch.tensor", "torch.as_tensor"}
FILLED_TYPES = {"device", "dtype", "requires_grad"}
"""Arguments of ``torch.tensor`` that ``torch.full`` takes as well."""


class NumberCopiedToDevice(Rule):
    """A Python number or literal list is made a GPU tensor by a copy, in code that runs every step.

    ## Why is this slow?

    `torch.tensor(3.0, device="cuda")` builds a CPU tensor first and copies it from pageable memory; the host
    waits for that copy and for all work queued before it. `torch.full((), 3.0, device="cuda")` starts a
    kernel with the number as its argument. Measured on an H200 with torch 2.11: `torch.tensor`,
    `torch.as_tensor` and `new_tensor` wait for the whole queue, with a number and with a list;
    `torch.full`, `new_full` and an empty list wait for nothing.

    ## When it stays silent

    - outside code that runs every step, in `__init__`, set-up and data sets;
    - for a tensor that stays on the CPU, or may do so;
    - for lists whose content changes: they are new data, and have to be copied;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the value is a number.

    ## Fix safety

    For a number the fix writes `torch.full((), value, …)` or `x.new_full((), value)`. It is safe for literals
    and, where `dtype` is given, for what is computed. Otherwise it is unsafe: a NumPy number has an element
    type of its own, and a name may stand for a list where its default is a number. A literal
    list has no fix: make it once, as a buffer (`register_buffer(…, persistent=False)`).

    ## Sources

    - vllm-project/vllm#51458 and Lightning-AI/torchmetrics#3284: replaced by `torch.full`
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL209"
    name = "number-copied-to-device"
    wants = wants(calls=FROM_PYTHON, methods={"new_tensor"})
    proof = Signature(At.LINE, Metric.PAGEABLE_COPY)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A constant made on the GPU in each call.",
            """\
import torch
from torch import nn


class Clamp(nn.Module):
    def forward(self, x):
        low = «torch.tensor(-1.0, device=x.device)»
        high = «x.new_tensor(1)»
        return torch.maximum(torch.minimum(x, high), low)
""",
            """\
import torch
from torch import nn


class Clamp(nn.Module):
    def forward(self, x):
        low = torch.full((), -1.0, device=x.device)
        high = x.new_full((), 1)
        return torch.maximum(torch.minimum(x, high), low)
""",
        ),
        Example(
            "A count, with its element type.",
            """\
import torch


def train(model, loader, optimizer):
    for images in loader:
        output = model(images.cuda())
        count = «torch.tensor(len(images), dtype=torch.float32, device=output.device)»
        loss = output.sum() / count
        loss.backward()
        optimizer.step()
""",
            """\
import torch


def train(model, loader, optimizer):
    for images in loader:
        output = model(images.cuda())
        count = torch.full((), len(images), dtype=torch.float32, device=output.device)
        loss = output.sum() / count
        loss.backward()
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "Filled on the GPU, made once, empty, or left on the CPU.",
            """\
import torch
from torch import nn


class Clamp(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.low = torch.tensor(-1.0, device=device)

    def forward(self, x):
        high = torch.full((), 1.0, device=x.device)
        none = torch.tensor([], device=x.device)
        return torch.minimum(x, high) * torch.tensor(0.5), none
""",
        ),
        Example(
            "New data from the host, and copies of tensors.",
            """\
import torch


def train(model, loader, optimizer):
    for images, sizes in loader:
        output = model(images.cuda())
        size = torch.tensor([len(name) for name in sizes], device=output.device)
        again = torch.as_tensor(output, device=output.device)
        loss = (output + again).sum() / size.sum()
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "Moved to a device that the caller chose, once.",
            """\
import torch


def make_limits(device):
    return torch.tensor(3.0, device=device), torch.tensor([1.0, 2.0], device=device)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not node.args or has_unpacking(node) or not counts(node, facts):
            return None
        made = facts.value(node)
        is_new = isinstance(node.func, ast.Attribute) and node.func.attr == "new_tensor"
        if not made.on_accelerator or not (is_new or keyword(node, "device") is not None):
            return None
        confidence = Confidence.CERTAIN if made.place is Place.ACCELERATOR else Confidence.LIKELY
        copied = f"`{short(node)}` copies from the host, which {host_waits(node, facts)}."
        data = node.args[0]
        if facts.value(data).kind is Kind.NUMBER:
            filled = "new_full" if is_new else "torch.full"
            fix, title = _fix(node, is_new), f"Fill on the GPU with {filled}"
            return Verdict(
                node, f"{copied} `{filled}((), …)` starts a kernel instead.", confidence, fix, title
            )
        if _is_literal(data):
            return Verdict(node, f"{copied} Make it once, as a buffer of the module.", confidence)
        return None

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call)
        function = node.func
        assert isinstance(function, cst.Attribute)
        name = "new_full" if function.attr.value == "new_tensor" else "full"
        none = cst.SimpleWhitespace("")
        size = cst.Arg(cst.Tuple([]), comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        value = node.args[0].with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
        if len(node.args) == 1:
            value = value.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=none)
        return Rewrite(
            node.with_changes(
                func=function.with_changes(attr=cst.Name(name)), args=[size, value, *node.args[1:]]
            )
        )


def _fix(call: ast.Call, is_new: bool) -> Applicability:
    """How safe it is to fill instead."""
    named = {given.arg for given in call.keywords}
    if len(call.args) > 1 or not named <= FILLED_TYPES or not isinstance(call.func, ast.Attribute):
        return Applicability.NONE
    number = call.args[0]
    is_computed = (is_new or "dtype" in named) and not isinstance(number, ast.Name | ast.Attribute)
    return Applicability.SAFE if is_computed or _is_literal(number) else Applicability.UNSAFE


def _is_literal(node: ast.expr) -> bool:
    """Whether a value is written out, and is not empty."""
    try:
        written = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return False
    return not isinstance(written, list | tuple) or bool(written)
