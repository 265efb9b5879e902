from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import has_unpacking, keyword
from warplint_rules.precision._amp import NEW_SCALER, OLD_SCALER

IN_BFLOAT16 = r"autocast\([^)]*torch\.bfloat16"
IN_FLOAT16 = r"(?<!b)float16|\bhalf\b|fp16|[a-z]_?dtype\s*=\s*(?!torch\.)"
"""Float16 anywhere, or an element type that something else decides."""


class ScalerWithBfloat16(Rule):
    """A `GradScaler` scales losses that are computed in bfloat16.

    ## Why is this slow?

    Scaling keeps small gradients from vanishing in float16. bfloat16 has the range of float32, and nothing
    vanishes: the scaler multiplies every gradient twice for nothing, looks for infinities, and, with an
    optimizer that is not fused, makes the host wait for the answer in each step (WL221).

    This is a note, as it seldom costs much. Measured on an H200 with torch 2.11: a step of 200 small
    parameters took as long with the scaler as without.

    ## When it stays silent

    - when the file mentions float16, or an element type that is chosen elsewhere;
    - when `enabled=` decides whether the scaler works.

    ## Fix safety

    There is no automatic fix: the calls of the scaler are spread over the program. Without a scaler, call
    `loss.backward()` and `optimizer.step()`.

    ## Sources

    - torch.amp, "Gradient Scaling"
    - torch/amp/grad_scaler.py, `_maybe_opt_step`
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL403"
    name = "scaler-with-bfloat16"
    wants = wants(calls=[*OLD_SCALER, *NEW_SCALER])
    proof = Signature(At.USES, Metric.WAIT)
    risk = Risk.LOW
    severity = Severity.INFO
    preview = True

    fires = (
        Example(
            "Autocast to bfloat16 and a scaler.",
            """\
import torch


def train(model, loader, optimizer):
    scaler = «torch.amp.GradScaler("cuda")»
    for images in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(images).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
        ),
    )

    quiet = (
        Example(
            "Float16, by default.",
            """\
import torch


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for images in loader:
        with torch.autocast("cuda"):
            loss = model(images).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
        ),
        Example(
            "One or the other, and the scaler is told.",
            """\
import torch


def train(model, loader, optimizer, fast):
    scaler = torch.amp.GradScaler("cuda", enabled=not fast)
    for images in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(images).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
        ),
        Example(
            "A type that an option chooses.",
            """\
import torch


def train(model, loader, optimizer, options):
    scaler = torch.amp.GradScaler("cuda") if options.dtype == "float16" else None
    chosen = torch.float16 if options.dtype == "float16" else torch.bfloat16
    for images in loader:
        with torch.autocast("cuda", dtype=chosen):
            loss = model(images).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        enabled = keyword(node, "enabled")
        if has_unpacking(node) or (enabled is not None and not _is_true(enabled)):
            return None
        if not facts.is_called("autocast") or facts.mentions(IN_FLOAT16):
            return None
        if not facts.mentions(IN_BFLOAT16):
            return None
        return Verdict(
            node,
            "This scaler scales losses in bfloat16, which has the range of float32 and needs no scaling. "
            "Leave it out: call `loss.backward()` and `optimizer.step()`.",
            Confidence.LIKELY,
        )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
