from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind, Place
from warplint_rules._lightning import logging_call, runs_each_step
from warplint_rules._text import short

if TYPE_CHECKING:
    import libcst as cst

READS = ("item", "cpu")
"""Methods that copy a tensor to the host."""
CASTS = ("float",)
HOST_KINDS = {Kind.NUMBER, Kind.NDARRAY, Kind.STRING, Kind.SEQUENCE, Kind.NONE}


class LightningLogItem(Rule):
    """A number is read from the GPU only to hand it to Lightning's `self.log`, which takes tensors.

    ## Why is this slow?

    `loss.item()` makes the host wait until the GPU has done all work queued so far, in every step.
    Lightning detaches what it is handed and keeps it on the GPU; it reads the values when a logger writes
    them, every `log_every_n_steps` steps, or once an epoch. Measured on an H200 with torch 2.11: a read
    waits for the whole queue.

    ## When it stays silent

    - outside code that runs every step: hooks at the end of an epoch may read;
    - on Python numbers, NumPy values and tensors on the CPU;
    - for loggers other than `self.log` and `self.log_dict` of a Lightning module.

    ## Fix safety

    Safe: Lightning makes a detached copy of a tensor, so that neither the graph nor a later change reaches
    the log, and logs the same number.

    ## Sources

    - lightning/pytorch/core/module.py, `log`: "a float, Tensor, or a Metric"; values are detached
    - Lightning documentation, "Speed up model training": avoid `.item()`, `.numpy()`, `.cpu()`
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL901"
    name = "lightning-log-item"
    wants = wants(methods=READS, builtins=CASTS)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "The loss of each step.",
            """\
import lightning as L
import torch


class Net(L.LightningModule):
    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self(batch[0]), batch[1])
        self.log("train_loss", «loss.item()», prog_bar=True)
        self.log("other", value=«float(loss)»)
        return loss
""",
            """\
import lightning as L
import torch


class Net(L.LightningModule):
    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self(batch[0]), batch[1])
        self.log("train_loss", loss, prog_bar=True)
        self.log("other", value=loss)
        return loss
""",
        ),
        Example(
            "Several at once, copied to the host first.",
            """\
import pytorch_lightning as pl
import torch


class Base(pl.LightningModule):
    pass


class Net(Base):
    def training_step(self, batch, index):
        loss, parts = self.losses(batch)
        if self.global_step % 50 == 0:
            self.log("sometimes", loss.item())
        self.log_dict({"loss": «loss.detach().cpu().item()», "parts": «parts.sum().item()»})
        return loss

    def validation_step(self, batch, index):
        loss, _ = self.losses(batch)
        self.log("val_loss", «loss.cpu()»)
""",
            """\
import pytorch_lightning as pl
import torch


class Base(pl.LightningModule):
    pass


class Net(Base):
    def training_step(self, batch, index):
        loss, parts = self.losses(batch)
        if self.global_step % 50 == 0:
            self.log("sometimes", loss.item())
        self.log_dict({"loss": loss.detach(), "parts": parts.sum()})
        return loss

    def validation_step(self, batch, index):
        loss, _ = self.losses(batch)
        self.log("val_loss", loss)
""",
        ),
    )

    quiet = (
        Example(
            "Tensors, numbers, and once an epoch.",
            """\
import lightning as L
import numpy as np
import torch


class Net(L.LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()
        self.log("loss", loss)
        self.log("size", float(len(batch)))
        self.log("mean", np.mean([1.0, 2.0]).item())
        self.log("share", float(self.depth / 3))
        return loss

    def on_train_epoch_end(self):
        self.log("best", self.best.item())
""",
        ),
        Example(
            "Another logger, and another class with a method of that name.",
            """\
import torch


class Trainer:
    def train(self, loader):
        for batch in loader:
            loss = self.model(batch.cuda()).mean()
            loss.backward()
            self.log("loss", loss.item())
            print(loss.item())
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        read = _read(node)
        # How often the place runs is known at once; what is around a node is only worked out when asked.
        if read is None or not runs_each_step(node, facts) or logging_call(node, facts) is None:
            return None
        value = facts.value(read)
        is_known = value.kind is Kind.TENSOR and value.place is not Place.CPU
        if value.kind in HOST_KINDS or value.on_cpu or not (is_known or _may_be_tensor(node)):
            return None
        return Verdict(
            node,
            f"`{short(node)}` makes the host wait for all the work queued on the GPU. `self.log` takes "
            f"tensors: hand over `{short(read)}`.",
            Confidence.CERTAIN if value.on_accelerator else Confidence.LIKELY,
            Applicability.SAFE,
            f"Hand over `{short(read)}`",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        while isinstance(node, cst.Call):
            if isinstance(node.func, cst.Attribute) and node.func.attr.value in READS and not node.args:
                node = node.func.value
            elif isinstance(node.func, cst.Name) and node.func.value in CASTS and len(node.args) == 1:
                node = node.args[0].value
            else:
                break
        return Rewrite(node)


def _read(call: ast.Call) -> ast.expr | None:
    """The tensor whose content a call reads, behind all further reads of it."""
    found: ast.expr | None = None
    current: ast.expr = call
    while isinstance(current, ast.Call):
        function = current.func
        if isinstance(function, ast.Attribute) and function.attr in READS and not current.args:
            current = found = function.value
        elif isinstance(function, ast.Name) and function.id in CASTS and len(current.args) == 1:
            current = found = current.args[0]
        else:
            break
    return found


def _may_be_tensor(call: ast.Call) -> bool:
    """Whether a value of unknown kind is read as only tensors are: ``.item()``; ``float`` takes anything."""
    return isinstance(call.func, ast.Attribute)
