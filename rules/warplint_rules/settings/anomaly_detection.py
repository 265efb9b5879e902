from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import keyword
from warplint_rules._text import short
from warplint_rules.settings._left_on import is_asked_for

SETTERS = {"torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"}
TRAINERS = {"lightning.Trainer", "lightning.pytorch.Trainer"}
CONTEXTS = {"torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"}


class AnomalyDetectionLeftOn(Rule):
    """Autograd's anomaly detection is on in every run.

    ## Why is this slow?

    With it, each operation of the forward pass records its Python stack, and the backward pass reads every
    gradient back to look for NaN: the host waits for the GPU once an operation. The documentation asks to
    use it for debugging only. Measured on an H200 with torch 2.11: a training step of 20 linear layers took
    about 22 ms with it and 4.4 ms without.

    ## When it stays silent

    - behind a condition (`if args.debug:`) and where the mode is a variable;
    - in hooks, callbacks and functions that are named for debugging: those are asked for.

    ## Fix safety

    There is no automatic fix: take the call out, or put it behind an option. Runs that were stopped by NaN
    gradients are not stopped then.

    ## Sources

    - torch.autograd, "Anomaly detection": "This mode should be enabled only for debugging"
    - PyTorch performance tuning guide, "Disable debugging APIs"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL531"
    name = "anomaly-detection-left-on"
    wants = wants(calls=SETTERS | CONTEXTS | TRAINERS)
    proof = Signature(At.RUN, Metric.HOST_TIME)
    risk = Risk.HIGH

    fires = (
        Example(
            "As an option of Lightning's trainer.",
            """\
import pytorch_lightning as pl


def main(model):
    trainer = «pl.Trainer(max_epochs=3, detect_anomaly=True)»
    trainer.fit(model)
""",
        ),
        Example(
            "At the top of a training script.",
            """\
import torch

«torch.autograd.set_detect_anomaly(True)»
device = torch.device("cuda")


def step(model, images):
    model(images.to(device)).mean().backward()
""",
        ),
        Example(
            "Around the training loop.",
            """\
import torch


def train(model, loader, optimizer):
    with «torch.autograd.detect_anomaly()»:
        for images in loader:
            model(images.cuda()).mean().backward()
            optimizer.step()
""",
        ),
        Example(
            "Imported by name; that there is a GPU is no condition.",
            """\
import torch
from torch import autograd


def main(args):
    if not args.quick:
        print("Follow every gradient through the model.")
    if torch.cuda.is_available():
        «autograd.set_detect_anomaly(mode=True, check_nan=False)»


def step(model, images):
    model(images.cuda()).mean().backward()
""",
        ),
    )

    quiet = (
        Example(
            "An option of Lightning's trainer that is off, or a variable.",
            """\
import lightning as L


def main(args, model):
    L.Trainer(max_epochs=3, detect_anomaly=False).fit(model)
    L.Trainer(max_epochs=3, detect_anomaly=args.anomaly).fit(model)
""",
        ),
        Example(
            "On request.",
            """\
import torch


def main(args):
    if args.debug:
        torch.autograd.set_detect_anomaly(True)
    torch.autograd.set_detect_anomaly(args.anomaly)
    with torch.autograd.set_detect_anomaly(mode=args.anomaly):
        pass
""",
        ),
        Example(
            "Switched off, and a hook that is there for it.",
            """\
import torch

torch.autograd.set_detect_anomaly(False)


class DetectAnomalyHook:
    def before_run(self, runner):
        torch.autograd.set_detect_anomaly(True)


def find_anomaly(model, images):
    with torch.autograd.detect_anomaly():
        model(images).mean().backward()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not self._turns_on(node, facts) or is_asked_for(node, facts):
            return None
        is_trainer = facts.qualified(node.func) in TRAINERS
        what = "`detect_anomaly=True`" if is_trainer else f"`{short(node)}`"
        return Verdict(
            node,
            f"{what} records a stack for each operation and checks every gradient for NaN on the "
            "host, in every run. Take it out, or put it behind an option for debugging.",
            Confidence.CERTAIN,
        )

    def _turns_on(self, call: ast.Call, facts: Facts) -> bool:
        name = facts.qualified(call.func)
        if name in CONTEXTS:
            return True
        mode = keyword(call, "detect_anomaly" if name in TRAINERS else "mode")
        if name in SETTERS and call.args:
            mode = call.args[0]
        return isinstance(mode, ast.Constant) and mode.value is True
