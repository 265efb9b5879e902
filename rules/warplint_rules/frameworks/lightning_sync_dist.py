from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.inference.arguments import is_off
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import keyword
from warplint_rules._lightning import LOGGING, is_logging, lightning_class, runs_each_step
from warplint_rules._text import short


class LightningSyncDistEveryStep(Rule):
    """Lightning averages a logged value over all GPUs in every training step.

    ## Why is this slow?

    In `training_step`, `self.log` logs each step by default. With `sync_dist=True` each call then is an
    all-reduce: every GPU waits until the slowest has come as far. `log_dict` does one for each value. For
    averages over an epoch (`on_step=False, on_epoch=True`) there is one at the end of the epoch.

    On one GPU it does nothing, and little on GPUs that are equally fast: measured on two H200 joined by
    NVLink with torch 2.11, summing the loss and reading it in each step took 1.04 times as long, which is
    within what two runs differ by. So this is a note rather than a warning.

    ## When it stays silent

    - outside `training_step`: elsewhere values are averaged over the epoch by default;
    - with `on_step=False`, and where `on_step` or `sync_dist` is a variable.

    ## Fix safety

    There is no automatic fix: without `sync_dist` the log shows what one GPU saw, and with `on_step=False`
    one value an epoch.

    ## Sources

    - lightning/pytorch/core/module.py, `log`: "sync_dist … use with care as this may lead to a significant
      communication overhead"
    - measured on two H200, torch 2.11: `bench/results/h200/distributed_gains.txt`
    """

    code = "WL902"
    name = "lightning-sync-dist-every-step"
    wants = wants(methods=LOGGING)
    proof = Signature(At.LINE, Metric.COMMUNICATION)
    risk = Risk.LOW
    preview = True
    severity = Severity.INFO

    fires = (
        Example(
            "The loss of each step, by default and on purpose.",
            """\
import lightning as L


class Net(L.LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()
        «self.log("loss", loss, sync_dist=True)»
        «self.log_dict({"a": loss, "b": loss}, on_step=True, on_epoch=True, sync_dist=True)»
        return loss
""",
        ),
    )

    quiet = (
        Example(
            "Once an epoch, in validation, and on request.",
            """\
import lightning as L


class Net(L.LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        self.log("other", loss, sync_dist=self.trainer.world_size > 1)
        self.log("plain", loss)
        if index % 100 == 0:
            self.log("sometimes", loss, sync_dist=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", self(batch).mean(), sync_dist=True)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        synced, each_step = keyword(node, "sync_dist"), keyword(node, "on_step")
        if not is_logging(node) or not _is_true(synced) or not (each_step is None or _is_true(each_step)):
            return None
        function = facts.function(node)
        if function is None or function.name != "training_step":
            return None
        if not runs_each_step(node, facts) or lightning_class(node, facts) is None:
            return None
        return Verdict(
            node,
            f"`{short(node)}` makes all GPUs wait for each other in every step. Average over the epoch "
            "(`on_step=False, on_epoch=True`), or leave out `sync_dist`.",
            Confidence.CERTAIN,
        )


def _is_true(argument: ast.expr | None) -> bool:
    return isinstance(argument, ast.Constant) and not is_off(argument)
