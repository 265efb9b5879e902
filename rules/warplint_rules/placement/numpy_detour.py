from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.facts import Facts, UseKind
from warplint.static.finding import Confidence, Hotness
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind
from warplint_rules._calls import has_unpacking
from warplint_rules._roles import QUIET_ROLES

BUILDERS = {"torch.as_tensor", "torch.from_numpy", "torch.tensor"}
ON_ARRAYS = {"astype", "copy", "flatten", "ravel", "reshape", "squeeze", "transpose"}
"""Methods of arrays that tensors have as well, under this or another name."""
MAX_NAMES = 4
"""Names that are followed from the array to the tensor it was read from."""


class NumpyDetour(Rule):
    """A GPU tensor goes through NumPy and back to the GPU in code that runs every step.

    ## Why is this slow?

    The way there waits for all work queued on the GPU, NumPy then computes on one core while the GPU idles,
    and the way back is a copy from pageable memory, which waits again. Measured on an H200 with torch 2.11:
    `x.cpu()` and `torch.from_numpy(a).to(device)` each block behind a busy GPU, where `sort`, `argmax`,
    `cumsum` and `clamp` run without a wait; to clip a million numbers took 1.7 ms by way of NumPy and
    0.03 ms with `torch.clamp`.

    ## When it stays silent

    - where a library works on the array that has no twin in PyTorch: SciPy, OpenCV, scikit-learn, COCO tools;
    - where the array is changed in place or filled on the way, or comes from elsewhere too;
    - where the result stays on the CPU, in set-up and in data code.

    ## Fix safety

    There is no automatic fix: functions of the same name differ in defaults, ties and element types. Use the
    function of `torch` that does the same.

    ## Sources

    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization"
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt` and
      `bench/results/h200/advice_gains.txt`
    """

    code = "WL104"
    name = "numpy-detour"
    wants = wants(calls=BUILDERS)
    proof = Signature(At.LINE, Metric.PAGEABLE_COPY)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "Sorted by NumPy, and moved back at once.",
            """\
import numpy as np
import torch
from torch import nn


class Rank(nn.Module):
    def forward(self, scores):
        values = scores.detach().cpu().numpy()
        order = np.argsort(values, axis=-1)
        return scores.gather(-1, «torch.from_numpy(order)».to(scores.device))
""",
        ),
        Example(
            "Built on the GPU from the array.",
            """\
import numpy as np
import torch
from torch import nn


class Clip(nn.Module):
    def forward(self, x):
        limit = np.percentile(x.cpu().numpy(), 99)
        return x.minimum(«torch.as_tensor(np.clip(x.cpu().numpy(), 0, limit), device=x.device)»)
""",
        ),
    )

    quiet = (
        Example(
            "A solver that PyTorch has not.",
            """\
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn


class Match(nn.Module):
    def forward(self, cost):
        rows, columns = linear_sum_assignment(cost.detach().cpu().numpy())
        return cost[torch.as_tensor(rows, device=cost.device), torch.as_tensor(columns, device=cost.device)]
""",
        ),
        Example(
            "Filled from Python on the way.",
            """\
import torch
from torch import nn


class Tag(nn.Module):
    def forward(self, ids, known):
        tags = ids.cpu().numpy()
        for row in range(len(tags)):
            tags[row] = known.get(row, 0)
        return torch.from_numpy(tags).to(ids.device)
""",
        ),
        Example(
            "New data, and what stays on the CPU.",
            """\
import numpy as np
import torch
from torch import nn


class Draw(nn.Module):
    def forward(self, x):
        noise = torch.from_numpy(np.random.rand(4)).to(x.device)
        self.log(torch.from_numpy(np.sort(x.cpu().numpy())))
        return x + noise
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        function = facts.function(node)
        if facts.hotness(node) is not Hotness.STEP or (function and function.role in QUIET_ROLES):
            return None
        if not node.args or has_unpacking(node) or facts.value(node.args[0]).kind is not Kind.NDARRAY:
            return None
        read = _read(node.args[0], facts)
        if read is None or not _goes_back(node, facts):
            return None
        return Verdict(
            node,
            f"`{ast.unparse(read)}` is read from the GPU {facts.why_hot(node)}, worked on by NumPy and "
            "copied back: the host waits twice, and the GPU idles. Do it with functions of `torch`.",
            Confidence.LIKELY,
        )


def _read(array: ast.expr, facts: Facts) -> ast.expr | None:
    """The GPU tensor that an array was computed from, by NumPy alone; None where it comes from more."""
    found: list[ast.expr] = []
    waiting, names = [array], 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            origin = facts.value(node).origin
            names += 1
            if origin is None or origin is node or names > MAX_NAMES or _is_filled(node, facts):
                return None
            waiting.append(origin)
        elif isinstance(node, ast.Call):
            if _is_read(node):
                tensor = _on_the_gpu(node, facts)
                if tensor is None:
                    return None
                found.append(tensor)
                continue
            parts = list(_arrays(node, facts))
            if not parts:
                return None
            waiting.extend(parts)
        elif isinstance(node, ast.BinOp):
            waiting.extend(
                part for part in (node.left, node.right) if facts.value(part).kind is not Kind.NUMBER
            )
        elif isinstance(node, (ast.Subscript, ast.UnaryOp)):
            waiting.append(node.value if isinstance(node, ast.Subscript) else node.operand)
        else:
            return None
    return found[0] if found else None


def _is_filled(name: ast.Name, facts: Facts) -> bool:
    """Whether elements of an array are set to what does not come from itself."""
    function = facts.function(name)
    scope = ast.walk(function.node) if function is not None else ()
    return any(
        isinstance(part, ast.Assign)
        and any(_is_part_of(target, name.id) for target in part.targets)
        and not any(isinstance(inner, ast.Name) and inner.id == name.id for inner in ast.walk(part.value))
        for part in scope
    )


def _is_part_of(target: ast.expr, name: str) -> bool:
    return (
        isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name
    )


def _is_read(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "numpy"


def _on_the_gpu(read: ast.Call, facts: Facts) -> ast.expr | None:
    """The tensor before ``.detach().cpu().numpy()``, if it is on the GPU."""
    node: ast.expr = read
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
        if facts.value(node).on_accelerator:
            return node
    return None


def _arrays(call: ast.Call, facts: Facts) -> Iterator[ast.expr]:
    """What a function of NumPy or a method of an array computes with; nothing of another call."""
    qualified = facts.qualified(call.func) or ""
    if qualified.startswith("numpy.") and not qualified.startswith("numpy.random."):
        yield from (part for part in call.args if facts.value(part).kind is Kind.NDARRAY)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in ON_ARRAYS:
        yield call.func.value


def _goes_back(made: ast.Call, facts: Facts) -> bool:
    """Whether the tensor made of the array is built on, or moved to, the GPU."""
    waiting: list[ast.expr] = [made]
    seen: set[ast.AST] = {made}
    if facts.value(made).on_accelerator:
        return True
    while waiting:
        for use in facts.uses(waiting.pop()):
            if not isinstance(use.node, ast.expr) or use.node in seen:
                continue
            seen.add(use.node)
            if use.kind is UseKind.MOVED and facts.value(use.node).on_accelerator:
                return True
            if use.kind is UseKind.OTHER and facts.value(use.node).on_cpu:
                waiting.append(use.node)
    return False
