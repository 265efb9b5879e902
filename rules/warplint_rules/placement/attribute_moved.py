from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.parsing.tree import FunctionNode
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import is_set
from warplint_rules._roles import QUIET_ROLES

CONSTRUCTION = {"__init__", "__post_init__", "__new__"}


class AttributeMovedEachTime(Rule):
    """A tensor that an object keeps on the CPU is moved to the GPU again in each step.

    ## Why is this slow?

    A tensor that is a plain attribute stays where it was made: `model.to(device)` moves parameters and
    buffers only. So each call copies it anew, from pageable memory, and the host waits for all work queued
    on the GPU. Measured on an H200 with torch 2.11: `t.to(device)` of a CPU tensor blocks behind a busy GPU,
    and with an idle one takes 0.4 ms for 1,024 by 1,024 numbers; of a tensor that is there already it does
    nothing.

    ## When it stays silent

    - for buffers and parameters, which are there already;
    - where the result is put back (`self.t = self.t.to(device)`): then only the first call copies;
    - where something else than the constructor sets the attribute, or it is not surely a CPU tensor;
    - for `non_blocking=True`, in pinned memory, in set-up and in data code.

    ## Fix safety

    There is no automatic fix, since it belongs in the constructor:
    `self.register_buffer("t", t, persistent=False)`. The buffer then moves, and changes its floating-point
    type, with the module; `persistent=False` leaves saved checkpoints as they are. In a class that is no
    module, move it once, when the device is known.

    ## Sources

    - torch.nn.Module.register_buffer, in the PyTorch documentation
    - PyTorch Lightning, "Hardware agnostic training": register tensors as buffers instead of moving them
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt` and
      `bench/results/h200/advice_gains.txt`
    """

    code = "WL103"
    name = "attribute-moved-each-time"
    wants = wants(methods={"to", "cuda", "type_as"})
    proof = Signature(At.LINE, Metric.PAGEABLE_COPY)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "The mean of a data set, moved on every call.",
            """\
import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor([0.48, 0.46, 0.41])

    def forward(self, image):
        return image - «self.mean.to(image.device)»[:, None, None]
""",
        ),
        Example(
            "In a loss that is no module, through a view and by another method.",
            """\
import torch


class SmoothLoss:
    def __init__(self, classes):
        self.weights = torch.linspace(0, 1, classes)

    def __call__(self, predicted, target):
        error = (predicted - target) ** 2
        return (error * «self.weights.unsqueeze(0).cuda()»).mean() + «self.weights.type_as(error)».sum()
""",
        ),
    )

    quiet = (
        Example(
            "A buffer is on the GPU already, and so is a parameter.",
            """\
import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.48, 0.46, 0.41]), persistent=False)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, image):
        return image * self.scale.to(image.device) - self.mean.to(image.device)
""",
        ),
        Example(
            "Put back, so that only the first call copies.",
            """\
import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.frequencies = torch.arange(width)

    def forward(self, x):
        self.frequencies = self.frequencies.to(x.device)
        return x * self.frequencies.to(x.device)
""",
        ),
        Example(
            "Filled anew for each batch: the content has to be copied.",
            """\
import torch
from torch import nn


class Sampled(nn.Module):
    def __init__(self):
        super().__init__()
        self.noise = torch.zeros(8)

    def draw(self):
        self.noise = torch.rand(8)

    def forward(self, x):
        return x + self.noise.to(x.device)
""",
        ),
        Example(
            "Only the type is changed, and what is moved may be anything.",
            """\
import torch
from torch import nn


class Cast(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.steps = torch.arange(8)
        self.table = table

    def forward(self, x):
        self.log(self.steps.to(torch.float32))
        return x + self.table.to(x.device)
""",
        ),
        Example(
            "A data set works on the CPU, and what a model sets up runs once.",
            """\
import torch
from torch import nn
from torch.utils.data import Dataset


class Points(Dataset):
    def __init__(self):
        self.points = torch.zeros(8)

    def __getitem__(self, index):
        return self.points.cuda()[index]


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.points = torch.zeros(8)

    def setup(self, device):
        return self.points.to(device)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        kept = _kept(node.func.value)
        function = facts.function(node)
        if (
            kept is None
            or function is None
            or function.class_role == "dataset"
            or function.role in QUIET_ROLES
        ):
            return None
        if facts.hotness(node) is not Hotness.STEP or is_set(node, "non_blocking"):
            return None
        held = facts.value(node.func.value)
        if not held.on_cpu or held.pinned or not facts.value(node).on_accelerator:
            return None
        owner = _class_around(node, facts)
        if owner is None or not _is_made_once(owner, kept.attr):
            return None
        name = f"self.{kept.attr}"
        remedy = (
            f'Register it in `__init__`: `self.register_buffer("{kept.attr}", …, persistent=False)`.'
            if function.class_role == "module"
            else "Move it once, when the device is known."
        )
        return Verdict(
            node,
            f"`{name}` stays on the CPU and is copied to the GPU each time {facts.why_hot(node)}, which the "
            f"host waits for. {remedy}",
            Confidence.LIKELY,
        )


def _kept(node: ast.expr) -> ast.Attribute | None:
    """The attribute of ``self`` that is moved, as it is or as a view of it."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node if is_own and isinstance(node, ast.Attribute) else None


def _class_around(node: ast.AST, facts: Facts) -> ast.ClassDef | None:
    above: ast.AST | None = node
    while above is not None and not isinstance(above, ast.ClassDef):
        above = facts.parent(above)
    return above


def _is_made_once(owner: ast.ClassDef, name: str) -> bool:
    """Whether the constructor sets an attribute and nothing else does, as a whole or in part."""
    setters = {
        method.name for method in _methods(owner) if any(_sets(part, name) for part in ast.walk(method))
    }
    return bool(setters) and setters <= CONSTRUCTION


def _methods(owner: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (part for part in owner.body if isinstance(part, FunctionNode))


def _sets(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and _is_attribute(node.value, name)
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_attribute(node, name)


def _is_attribute(node: ast.expr, name: str) -> bool:
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return is_own and isinstance(node, ast.Attribute) and node.attr == name
