from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._text import short
from warplint_rules.precision._amp import NEW_AUTOCAST, NEW_SCALER, OLD_AUTOCAST, OLD_SCALER, misuse


class MixedUpAmpArguments(Rule):
    """`autocast` or `GradScaler` of one namespace is handed the arguments of the other, and cannot run.

    ## Why is this slow?

    It does not get that far. `torch.cuda.amp.autocast` and `torch.cuda.amp.GradScaler` are for CUDA alone and
    take no device; `torch.amp.autocast` (also `torch.autocast`) needs one. The call raises an error, or is
    behind a condition that keeps it from ever running, and mixed precision is never on.

    ## When it stays silent

    - when `*args` or `**kwargs` may hold the arguments;
    - for a device in a variable of which nothing is known: it may be its name;
    - on `torch.cuda.amp.autocast("cuda")`, which takes the string for `enabled=True` and so works (WL406
      hints at its name).

    ## Fix safety

    There is no automatic fix, because it is not known which of the two was meant. Mostly it is the newer one:
    `torch.amp.autocast("cuda")` and `torch.amp.GradScaler("cuda")`, with `device.type` for the type of a
    device.

    ## Sources

    - the constructors in torch/cuda/amp and torch/amp, tried with torch 2.13
    - roboflow/rf-detr#52, mosaicml/llm-foundry#302: programs that failed this way
    """

    code = "WL405"
    name = "mixed-up-amp-arguments"
    wants = wants(calls=[*OLD_AUTOCAST, *OLD_SCALER, *NEW_AUTOCAST, *NEW_SCALER])
    proof = Signature(At.RUN, Metric.NONE)
    risk = Risk.HIGH
    severity = Severity.ERROR
    preview = True

    fires = (
        Example(
            "A device for what is for CUDA alone.",
            """\
import torch


def train(model, loader, optimizer):
    scaler = «torch.cuda.amp.GradScaler("cuda")»
    other = «torch.cuda.amp.GradScaler(device="cuda")»
    for images in loader:
        with «torch.cuda.amp.autocast(device_type="cuda", dtype=torch.float16)»:
            loss = model(images).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
        ),
        Example(
            "No device, a flag, an element type or a device object where the device's type is wanted.",
            """\
import torch
from torch.amp import GradScaler, autocast

device = torch.device("cuda")


def forward(model, x):
    with «autocast()»:
        x = model(x)
    with «autocast(True)»:
        x = model(x)
    with «torch.amp.autocast(torch.float16)»:
        x = model(x)
    with «torch.autocast(device)»:
        x = model(x)
    with «torch.autocast(device="cuda")»:
        x = model(x)
    return «GradScaler(device_type="cuda")», x
""",
        ),
    )

    quiet = (
        Example(
            "As they are meant.",
            """\
import torch
from torch.amp import GradScaler, autocast

device = torch.device("cuda")
old = torch.cuda.amp.GradScaler(1024.0, enabled=True)
new = [GradScaler("cuda"), GradScaler(device="cuda"), GradScaler(), torch.GradScaler(device)]


def forward(model, x, given):
    with torch.cuda.amp.autocast(True), torch.cuda.amp.autocast(enabled=False, dtype=torch.bfloat16):
        x = model(x)
    with autocast("cuda"), torch.autocast(device.type), torch.autocast(device_type=given):
        return model(x)
""",
        ),
        Example(
            "What is unpacked may hold it, and an `autocast` of one's own.",
            """\
import torch


def forward(model, x, settings, autocast):
    with torch.autocast(**settings), autocast(enabled=True):
        return model(x)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        why = misuse(node, facts)
        if why is None:
            return None
        newer = "GradScaler" if "Scaler" in ast.unparse(node.func) else "autocast"
        return Verdict(
            node,
            f'`{short(node.func)}` {why}. `torch.amp.{newer}("cuda", …)` takes the type of the device.',
            Confidence.CERTAIN,
        )
