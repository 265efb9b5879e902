from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind, Value
from warplint_rules._calls import argument
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, is_scalar, waiting

BUILDERS = {
    "torch.tensor", "torch.as_tensor", "torch.FloatTensor", "torch.LongTensor", "torch.Tensor", "numpy.array",
    "numpy.asarray", "numpy.mean", "numpy.stack", "numpy.sum",
}  # fmt: skip


class TensorOfTensors(Rule):
    """A tensor or array is built from a Python list of GPU tensors, in code that runs every step.

    ## Why is this slow?

    `torch.tensor([a, b])` asks each element for its number: the host stops until the GPU has done all work
    queued so far, once an element, and then copies the numbers back. Gradients are lost, too. Measured on an
    H200 with torch 2.11: `torch.tensor([a, b])` waits for the whole queue, `torch.stack([a, b])` for nothing.

    ## When it stays silent

    - for lists of Python numbers;
    - outside code that runs every step, in set-up and in data sets;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the elements are GPU tensors of no dimensions.

    ## Fix safety

    There is no automatic fix: `torch.stack` keeps the element type, the device and the gradient, which
    `torch.tensor` does not.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL224"
    name = "tensor-of-tensors"
    wants = wants(calls=BUILDERS)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "The losses of some heads put together.",
            """\
import torch
from torch import nn


class Heads(nn.Module):
    def forward(self, x, y):
        near = (x - y).square().mean()
        far = (x + y).square().mean()
        return «torch.tensor([near, far], device=x.device)»
""",
        ),
    )

    quiet = (
        Example(
            "Stacked, or made of numbers.",
            """\
import torch
from torch import nn


class Heads(nn.Module):
    def forward(self, x, y):
        near = (x - y).square().mean()
        sizes = torch.tensor([x.shape[0], len(y)])
        return torch.stack([near, near]), sizes, torch.tensor([float(size) for size in sizes])
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        data = argument(node, 0, "data")
        if data is None or not counts(node, facts):
            return None
        element = _scalar_in(facts.value(data))
        if element is None:
            return None
        return waiting(
            node,
            element,
            f"`{short(node)}` reads each element, which {host_waits(node, facts)}. Use `torch.stack`.",
        )


def _scalar_in(value: Value) -> Value | None:
    """A GPU tensor of no dimensions that a list holds."""
    if value.kind is not Kind.SEQUENCE:
        return None
    held = value.elements or (value.element,)
    return next((part for part in held if part is not None and is_scalar(part)), None)
