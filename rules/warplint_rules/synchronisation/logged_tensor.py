from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind, Value
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, is_scalar, waiting

WRITERS = {"add_scalar", "add_scalars", "add_histogram", "set_postfix", "log_metric", "log_metrics"}
"""Methods of TensorBoard, tqdm, MLflow and Comet that read what they are handed at once."""
RUNS = {"wandb.log", "mlflow.log_metric", "mlflow.log_metrics"}


class TensorLoggedEveryStep(Rule):
    """A GPU tensor is handed to a logger or progress bar that reads it, in every step.

    ## Why is this slow?

    TensorBoard's `add_scalar`, `wandb.log` and tqdm's `set_postfix` turn the tensor into a number at once:
    the host stops until the GPU has done all work queued so far. Measured on an H200 with torch 2.11: a read
    waits for the whole queue; reported elsewhere, the progress bar's loss cost 40 to 50 ms a step.

    ## When it stays silent

    - behind a guard that opens every N steps, and outside code that runs every step;
    - for Python numbers: reading them is another rule's finding (`host-read-in-hot-loop`);
    - for `self.log` of Lightning, which keeps tensors;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the value is a GPU tensor.

    ## Fix safety

    There is no automatic fix: how often is enough, only you know. Log every N steps
    (`if step % 50 == 0:`), or keep the values on the GPU and log them together.

    ## Sources

    - torch/utils/tensorboard/_convert_np.py: what is logged is copied to the host
    - pytorch/torchtune#522 and openvdb/fvdb-reality-capture#144: what a progress bar cost
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL222"
    name = "tensor-logged-every-step"
    wants = wants(calls=RUNS, methods=WRITERS)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "TensorBoard and a progress bar.",
            """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer, writer, bar):
    for step, (images, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        «writer.add_scalar("loss", loss, step)»
        «bar.set_postfix(loss=loss)»
""",
        ),
        Example(
            "Weights & Biases gets a dictionary.",
            """\
import torch
import wandb
from torch import nn


def train(model: nn.Module, loader, optimizer):
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        «wandb.log({"loss": loss, "batch": len(images)})»
""",
        ),
    )

    quiet = (
        Example(
            "Every fiftieth step, once an epoch, and numbers.",
            """\
import torch
import wandb
from torch import nn


def train(model: nn.Module, loader, optimizer, writer):
    for epoch in range(3):
        for step, (images, labels) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                writer.add_scalar("loss", loss, step)
            wandb.log({"step": step, "rate": optimizer.param_groups[0]["lr"]})
        writer.add_scalar("last", loss, epoch)
""",
        ),
        Example(
            "Lightning keeps the tensor.",
            """\
import lightning as L
import torch


class Net(L.LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()
        self.log("loss", loss)
        return loss
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not counts(node, facts):
            return None
        logged = next((part for part in _parts(node) if _is_read(facts.value(part), node)), None)
        if logged is None:
            return None
        return waiting(
            node,
            facts.value(logged),
            f"`{short(node)}` reads `{short(logged)}`, which {host_waits(node, facts)}. Log every N steps.",
        )


def _parts(call: ast.Call) -> list[ast.expr]:
    """The arguments, and the values of dictionaries that are written out."""
    parts: list[ast.expr] = []
    for argument in [*call.args, *(given.value for given in call.keywords)]:
        if isinstance(argument, ast.Dict):
            parts.extend(argument.values)
        else:
            parts.append(argument)
    return parts


def _is_read(value: Value, call: ast.Call) -> bool:
    """Whether a value is a GPU tensor that is read: one number of it, or all for a histogram."""
    histogram = isinstance(call.func, ast.Attribute) and call.func.attr == "add_histogram"
    return is_scalar(value) or (histogram and value.kind is Kind.TENSOR and value.on_accelerator)
