from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import (
    At,
    Example,
    Metric,
    Risk,
    Rule,
    Signature,
    TorchVersion,
    Verdict,
    wants,
)
from warplint.static.values import Kind
from warplint_rules._calls import has_unpacking, is_set
from warplint_rules._optimizers import FUSED
from warplint_rules._text import short

FUSED_BY_NAME = frozenset(f"torch.optim.{name}" for name in FUSED)
"""Optimizers that take ``fused=True`` and then look at the scaler's findings on the GPU."""
SCALER = "GradScaler"


class ScalerWithoutFused(Rule):
    """A `GradScaler` steps an optimizer that is not fused, and reads back every step whether it may.

    ## Why is this slow?

    `scaler.step(optimizer)` must skip the step when a gradient overflowed. For most optimizers the host asks
    the GPU for that (`.item()`), and so stops until all work queued so far is done. A fused optimizer gets
    the answer as a tensor and decides on the GPU. Measured on an H200 with torch 2.11: a scaled step with
    AdamW waits for the whole queue; with `AdamW(fused=True)` it does not.

    ## When it stays silent

    - for optimizers with `fused=True`, or arguments that may say so;
    - for optimizers that have no fused form, and those that the engine does not see being made;
    - for scalers that are switched off (`enabled=False`).

    ## Fix safety

    There is no automatic fix: `fused=True` rounds differently and needs parameters on the GPU. Where bfloat16
    is possible, no scaler is needed at all.

    ## Sources

    - torch/amp/grad_scaler.py, `_maybe_opt_step`
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL221"
    name = "scaler-without-fused"
    wants = wants(methods={"step"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.LOW
    since = TorchVersion(2, 0)
    preview = True

    fires = (
        Example(
            "Mixed precision with the default AdamW.",
            """\
import torch
from torch import nn


def train(model: nn.Module, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        «scaler.step(optimizer)»
        scaler.update()
""",
        ),
    )

    quiet = (
        Example(
            "Fused, of unknown making, without a fused form, or scaled by nothing.",
            """\
import torch
from torch import nn


def train(model: nn.Module, loader, given, options):
    fused = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    other = torch.optim.AdamW(model.parameters(), **options)
    rare = torch.optim.RAdam(model.parameters())
    plain = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        scaler.scale(loss).backward()
        scaler.step(fused)
        scaler.step(other)
        scaler.step(rare)
        scaler.step(given)
        scaler.update()
        plain.step()
""",
        ),
        Example(
            "A scheduler's step with a number.",
            """\
import torch


def train(model, loader, scheduler):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for images in loader:
            model(images.cuda()).mean().backward()
            optimizer.step()
        scheduler.step(epoch)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if len(node.args) != 1 or facts.hotness(node) is not Hotness.STEP:
            return None
        optimizer = facts.value(node.args[0])
        if optimizer.kind is not Kind.OPTIMIZER or optimizer.qualified not in FUSED_BY_NAME:
            return None
        made = optimizer.origin
        if not isinstance(made, ast.Call) or has_unpacking(made) or is_set(made, "fused"):
            return None
        if not _is_scaler(node.func.value, facts):
            return None
        return Verdict(
            node,
            f"`{short(node)}` makes the host wait {facts.why_hot(node)}, to read whether a gradient "
            f"overflowed. With `fused=True`, {last_name(made)} decides that on the GPU.",
            Confidence.LIKELY,
        )


def _is_scaler(node: ast.expr, facts: Facts) -> bool:
    """Whether a value is a ``GradScaler`` that is not switched off."""
    made = facts.value(node).origin
    if not isinstance(made, ast.Call):
        return False
    name = facts.qualified(made.func) or ""
    enabled = next((given.value for given in made.keywords if given.arg == "enabled"), None)
    is_off = isinstance(enabled, ast.Constant) and enabled.value is False
    return name.startswith("torch.") and name.endswith(SCALER) and not is_off
