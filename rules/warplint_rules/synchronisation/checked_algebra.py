from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability
from warplint.static.parsing.tree import FunctionNode, last_name
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.waits import CHECKED
from warplint_rules._calls import has_unpacking
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, operand, waiting

if TYPE_CHECKING:
    import libcst as cst

ONE_RESULT = {"cholesky", "inv", "solve"}
"""Functions of ``torch.linalg`` whose unchecked form gives the same result and how it went."""
_NAMES = {f"torch.linalg.{name}" for name in CHECKED} | {
    f"torch.{name}" for name in ("cholesky", "inverse", "matrix_exp", "pinverse", "svd")
}


class CheckedAlgebraInHotCode(Rule):
    """A factorisation or solver of linear algebra runs every step and reads back whether it succeeded.

    ## Why is this slow?

    `torch.linalg.inv`, `solve`, `cholesky` and others raise an error when the matrix is singular. To know
    that, the host stops until the GPU has done all work queued so far. Measured on an H200 with torch 2.11:
    each waits for the whole queue; their forms `inv_ex`, `solve_ex`, `cholesky_ex` and `lu_factor_ex` wait
    for nothing. `eigh`, `svd` and `lstsq` have no such form; `qr` and `det` wait for nothing as they are.

    ## When it stays silent

    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors and NumPy arrays;
    - for the `_ex` forms, `qr` and `det`, and inside `try`: there the check is wanted;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - in optimizers and decompositions where the engine does not see a GPU tensor.

    ## Fix safety

    The fix writes `torch.linalg.inv_ex(x)[0]` and its like. It is unsafe: a singular matrix then gives
    infinities instead of an error. Small matrices, such as camera poses, are cheaper on the CPU, or inverted
    by a formula (a rotation is inverted by transposing it).

    ## Sources

    - documentation of `torch.linalg.inv` and `torch.linalg.inv_ex`: which one synchronizes
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL216"
    name = "checked-linear-algebra"
    wants = wants(calls=_NAMES, methods={"inverse"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Poses inverted in the model.",
            """\
import torch
from torch import nn


class Project(nn.Module):
    def forward(self, points, pose: torch.Tensor):
        return points @ «torch.linalg.inv(pose)»
""",
            """\
import torch
from torch import nn


class Project(nn.Module):
    def forward(self, points, pose: torch.Tensor):
        return points @ torch.linalg.inv_ex(pose)[0]
""",
        ),
        Example(
            "Forms without an unchecked sibling in their place.",
            """\
import torch
from torch import nn


class Whiten(nn.Module):
    def forward(self, x):
        values, vectors = «torch.linalg.eigh(x @ x.mT)»
        return «x.inverse()» @ vectors * values
""",
        ),
    )

    quiet = (
        Example(
            "What does not check.",
            """\
import torch
from torch import nn


class Whiten(nn.Module):
    def forward(self, x):
        inverse, info = torch.linalg.inv_ex(x)
        q, r = torch.linalg.qr(x)
        return inverse @ q @ r * torch.linalg.det(x)[:, None, None]
""",
        ),
        Example(
            "Another thing's method of that name.",
            """\
import torch
from torch import nn


class Vocoder(nn.Module):
    def forward(self, spectrogram, angles):
        return self.stft.inverse(spectrogram, angles)
""",
        ),
        Example(
            "The error is caught.",
            """\
import torch
from torch import nn


class Whiten(nn.Module):
    def forward(self, x):
        try:
            return torch.linalg.cholesky(x)
        except RuntimeError:
            return torch.linalg.cholesky_ex(x + 1e-3 * torch.eye(3, device=x.device))[0]
""",
        ),
        Example(
            "On the host, and once.",
            """\
import numpy as np
import torch
from torch import nn


class Camera(nn.Module):
    def __init__(self, pose):
        super().__init__()
        self.register_buffer("inverse", torch.linalg.inv(torch.as_tensor(pose)))

    def forward(self, x, table):
        return x * float(np.linalg.inv(np.asarray(table))[0, 0])
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if has_unpacking(node) or not counts(node, facts) or _is_tried(node, facts):
            return None
        subject = operand(node, facts)
        if subject is None or not facts.value(subject).on_accelerator:
            return None
        name = (facts.qualified(node.func) or last_name(node)).rpartition(".")[2]
        unchecked = CHECKED[name]
        advice = (
            f"`torch.linalg.{unchecked}` does not check, and does not wait."
            if unchecked is not None
            else "Do it less often, or on small matrices on the CPU."
        )
        can_fix = _in_linalg(node, facts) and name in ONE_RESULT
        return waiting(
            node,
            facts.value(subject),
            f"`{short(node)}` {host_waits(node, facts)}, to learn whether it succeeded. {advice}",
            Applicability.UNSAFE if can_fix else Applicability.NONE,
            f"Use {unchecked}, which does not check" if can_fix else "",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
        unchecked = cst.Name(f"{node.func.attr.value}_ex")
        call = node.with_changes(func=node.func.with_changes(attr=unchecked))
        first = cst.SubscriptElement(cst.Index(cst.Integer("0")))
        return Rewrite(cst.Subscript(call, [first]))


def _is_tried(call: ast.Call, facts: Facts) -> bool:
    """Whether an error is caught around the call: then the check is wanted."""
    below: ast.AST = call
    above = facts.parent(call)
    while above is not None and not isinstance(above, FunctionNode):
        if isinstance(above, ast.Try) and below in above.body:
            return True
        below, above = above, facts.parent(above)
    return False


def _in_linalg(call: ast.Call, facts: Facts) -> bool:
    """Whether it is written as an attribute of ``torch.linalg``."""
    qualified = facts.qualified(call.func) or ""
    return isinstance(call.func, ast.Attribute) and qualified.startswith("torch.linalg.")
