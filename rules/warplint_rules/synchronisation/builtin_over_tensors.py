from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind, Value
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, waiting

COMPARING = {"all", "any", "max", "min", "sorted"}
MATHS = {
    f"math.{name}"
    for name in (
        "acos", "asin", "atan", "atan2", "ceil", "cos", "exp", "expm1", "floor", "isclose", "isfinite",
        "isinf", "isnan", "log", "log10", "log1p", "log2", "pow", "sin", "sqrt", "tan", "tanh",
    )
}  # fmt: skip


class BuiltinOverTensors(Rule):
    """A function of Python or of `math` works on GPU tensors in code that runs every step.

    ## Why is this slow?

    `max(a, b)` asks each comparison for its truth, and `math.exp(x)` asks for a Python number: the host
    stops until the GPU has done all work queued so far, once for each. Measured on an H200 with torch 2.11:
    `max`, `min`, `sorted`, `any` and `math.exp` wait for the whole queue; `sum` and `abs` wait for nothing.

    ## When it stays silent

    - outside code that runs every step, in set-up and in data sets;
    - for Python numbers, sizes, NumPy arrays and CPU tensors;
    - for `sum`, `abs` and whatever builds no truth value, and in optimizers, whose counters are numbers;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the arguments are tensors.

    ## Fix safety

    There is no automatic fix: shapes and element types decide which torch function says the same. Use
    `torch.maximum(a, b)`, `torch.stack(values).max()`, `x.clamp(max=1.0)`, `x.any()` and `x.exp()`, and read
    the result once, where it is needed.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL214"
    name = "builtin-over-tensors"
    wants = wants(calls=MATHS, builtins=COMPARING)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "The largest of some losses, and a perplexity.",
            """\
import math

import torch
from torch import nn


def train(model: nn.Module, loader, optimizer):
    best = 100.0
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        best = «min(loss, best)»
        yield «math.exp(loss)», best
""",
        ),
        Example(
            "One truth value an element.",
            """\
import torch
from torch import nn


class Stopping(nn.Module):
    def forward(self, scores):
        found = scores > 0.5
        return «any(found)», «sorted(scores)»
""",
        ),
    )

    quiet = (
        Example(
            "Numbers, sizes and lengths.",
            """\
import math

import torch
from torch import nn


class Scale(nn.Module):
    def forward(self, x, ratio):
        length = max(x.shape[0], x.size(1), 4)
        width = min(len(x), 3)
        return x * math.sqrt(x.shape[-1]) / max(1, length) + math.log(self.config.factor) * width
""",
        ),
        Example(
            "An optimizer's step counter.",
            """\
import math

import torch


class Descent(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                state["step"] += 1
                parameter.data.add_(parameter.grad, alpha=-math.sqrt(state["step"]))
""",
        ),
        Example(
            "A sum, and torch's own functions.",
            """\
import torch
from torch import nn


class Total(nn.Module):
    def forward(self, x):
        parts = [x[0], x[1]]
        return sum(parts) + torch.stack(parts).max() + abs(x)
""",
        ),
        Example(
            "Values that were read already, keys, and a list of tensors that a function orders.",
            """\
import torch
from torch import nn


class Order(nn.Module):
    def forward(self, x):
        numbers = x.tolist()
        longest = max(x, key=len)
        return max(numbers), longest, sorted([x, x], key=lambda part: part.shape[0])
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not node.args or any(given.arg == "key" for given in node.keywords) or not counts(node, facts):
            return None
        if _counts_steps(node, facts):
            return None
        values = [facts.value(argument) for argument in node.args]
        is_builtin = isinstance(node.func, ast.Name) and node.func.id in COMPARING
        if is_builtin and len(values) == 1:
            values = [_element(values[0])]
        read = next((value for value in values if value.on_accelerator), None)
        if read is None:
            return None
        return waiting(
            node,
            read,
            f"`{short(node)}` {host_waits(node, facts)}, once for each tensor it looks at. {_advice(node)}",
        )


def _counts_steps(call: ast.Call, facts: Facts) -> bool:
    """Whether an optimizer computes with its counters, which are Python numbers in most."""
    function = facts.function(call)
    return function is not None and function.class_role == "optimizer"


def _element(value: Value) -> Value:
    """What a built-in function compares if it is handed one thing to go over."""
    if value.kind is Kind.SEQUENCE and value.element is not None:
        return value.element
    return value


def _advice(call: ast.Call) -> str:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in {"max", "min"} and len(call.args) > 1:
        return f"Use `torch.{name}imum`, or `clamp` beside a number."
    if name == "sorted":
        return "Use `torch.sort`."
    if name in COMPARING:
        return f"Use the tensor's own `.{name}()`."
    return "Use the torch function of that name, and read the result when it is needed."
