from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.parsing.tree import FunctionNode
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import argument, is_set
from warplint_rules._roles import QUIET_ROLES

CONSTRUCTION = {"__init__", "__post_init__", "__new__"}
MAKERS = {"torch.as_tensor", "torch.from_numpy", "torch.tensor"}
"""What makes a tensor of an array."""
_OF_ARRAYS = {name.rpartition(".")[2] for name in MAKERS}


class AttributeMovedEachTime(Rule):
    """A tensor that an object keeps on the CPU is moved to the GPU again in each step.

    ## Why is this slow?

    A tensor that is a plain attribute stays where it was made: `model.to(device)` moves parameters and
    buffers only. So each call copies it anew, from pageable memory, and the host waits for all work queued
    on the GPU. Measured on an H200 with torch 2.11: `t.to(device)` of a CPU tensor blocks behind a busy GPU,
    and with an idle one takes 0.4 ms for 1,024 by 1,024 numbers; of a tensor that is there already it does
    nothing.

    The same holds for an array that an object keeps: `torch.from_numpy(self.table).to(device)` copies it each
    time. A function of the file that does this to what it is handed is looked at where it is called: the
    finding is at its move.

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
        Example(
            "Arrays that the constructor computed, made tensors by a helper in each step.",
            """\
import numpy as np
import torch


class Diffusion:
    def __init__(self, betas):
        alphas = np.cumprod(1.0 - np.array(betas))
        self.signal = np.sqrt(alphas)
        self.noise = np.sqrt(1.0 - alphas)

    def training_losses(self, model, x, t):
        noise = torch.randn_like(x)
        mixed = pick(self.signal, t, x.shape) * x + pick(self.noise, t, x.shape) * noise
        weight = «torch.as_tensor(self.signal).to(x.device)»[t]
        return weight * (model(mixed, t) - noise) ** 2


def pick(table, t, shape):
    picked = «torch.from_numpy(table).to(device=t.device)»[t].float()
    return picked.expand(shape)
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
            "Arrays that are new each time, and a helper that moves whatever it is handed.",
            """\
import numpy as np
import torch


class Agent:
    def __init__(self, limits):
        self.state = np.zeros(4)
        self.limits = np.array(limits)

    def train_step(self, model, world, optimizer):
        self.state, seen = world.step(self.state)
        loss = model(moved(self.state, "cuda") + moved(seen, "cuda") + moved(world.limits, "cuda")).mean()
        loss.backward()
        optimizer.step()


def moved(array, device):
    return torch.from_numpy(array).to(device)
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
        function = facts.function(node)
        if function is None or function.class_role == "dataset" or function.role in QUIET_ROLES:
            return None
        moved = _moved(node.func.value, facts)
        if moved is None or facts.hotness(node) is not Hotness.STEP or is_set(node, "non_blocking"):
            return None
        held = facts.value(node.func.value)
        if not held.on_cpu or held.pinned or not facts.value(node).on_accelerator:
            return None
        kept = moved if isinstance(moved, ast.Attribute) else _mostly_handed(moved.id, node, facts)
        owner = None if kept is None else _class_around(kept, facts)
        if kept is None or owner is None or not _is_made_once(owner, kept.attr):
            return None
        what = f"`self.{kept.attr}`"
        if kept is not moved:
            what = f"`{ast.unparse(moved)}`, mostly an array as {what},"
        remedy = (
            f'Register it in `__init__`: `self.register_buffer("{kept.attr}", …, persistent=False)`.'
            if function.class_role == "module"
            else "Move it once, when the device is known."
        )
        return Verdict(
            node,
            f"{what} stays on the CPU and is copied to the GPU each time {facts.why_hot(node)}, which the "
            f"host waits for. {remedy}",
            Confidence.LIKELY,
        )


def _moved(node: ast.expr, facts: Facts) -> ast.Attribute | ast.Name | None:
    """What is moved, itself or a view of it: an attribute of ``self``, or an array that a function takes."""
    is_array = False
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
            continue
        called = node.func if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(called, ast.Attribute):
            break
        if called.attr in _OF_ARRAYS and facts.qualified(called) in MAKERS and node.args:
            is_array, node = True, node.args[0]
        else:
            node = called.value
    if isinstance(node, ast.Attribute):
        return node if _is_own(node) else None
    return node if is_array and isinstance(node, ast.Name) else None


def _mostly_handed(name: str, node: ast.expr, facts: Facts) -> ast.Attribute | None:
    """An attribute that the constructor alone sets, if most calls hand one over for a parameter."""
    taken = _function_around(node, facts)
    if taken is None or name not in {taker.arg for taker in taken.args.args}:
        return None
    calls = facts.calls_of(node)
    given = [
        kept
        for call in calls
        if isinstance(kept := _handed(call, name, taken), ast.Attribute)
        and _is_own(kept)
        and (owner := _class_around(kept, facts)) is not None
        and _is_made_once(owner, kept.attr)
    ]
    return given[0] if 2 * len(given) > len(calls) else None


def _handed(call: ast.Call, name: str, taken: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """What a call of a plain function hands over for a parameter."""
    place = [taker.arg for taker in taken.args.args].index(name)
    return argument(call, place, name)


def _function_around(node: ast.AST, facts: Facts) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The plain function around a node: no method, no closure."""
    above = facts.parent(node)
    while above is not None and not isinstance(above, FunctionNode | ast.Lambda):
        above = facts.parent(above)
    is_plain = isinstance(above, FunctionNode) and facts.parent(above) is None
    return above if is_plain and isinstance(above, FunctionNode) else None


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
    return isinstance(node, ast.Attribute) and _is_own(node) and node.attr == name


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
