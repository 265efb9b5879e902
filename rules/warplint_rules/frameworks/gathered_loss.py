from __future__ import annotations

import ast

from warplint.static.facts import Facts, Role
from warplint.static.finding import Confidence, Hotness, Severity
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._loops import loops_around
from warplint_rules._text import short

GATHERING = ("gather", "gather_for_metrics", "reduce")


class GatheredLossEveryStep(Rule):
    """Accelerate collects the loss from all GPUs in every step, for a figure in a log.

    ## Why is this slow?

    `accelerator.gather(loss…)` is a collective: each GPU waits until the slowest has come as far, in every
    step and, with gradient accumulation, in every part of one. DDP would meet only once a step, at the end
    of `backward()`. The figure is mostly read with `.item()` next, so that the host waits as well.

    On one GPU the call does nothing, and little on GPUs that are equally fast: measured on two H200 joined by
    NVLink with torch 2.11, summing the loss and reading it in each step took 1.04 times as long, which is
    within what two runs differ by. So this is a note rather than a warning.

    ## When it stays silent

    - behind a guard that opens every N steps, and outside the loop that runs `backward()`;
    - in evaluation, where the results of all GPUs are needed;
    - for what is not named a loss.

    ## Fix safety

    There is no automatic fix: how often a figure is logged is yours to choose. Sum the loss on each GPU
    (`total += loss.detach()`), and gather the sum every N steps.

    ## Sources

    - Accelerate documentation, `Accelerator.gather`: collects from all processes
    - PyTorch documentation, "Distributed communication package", collective functions
    - measured on two H200, torch 2.11: `bench/results/h200/distributed_gains.txt`
    """

    code = "WL921"
    name = "gathered-loss-every-step"
    wants = wants(methods=GATHERING)
    proof = Signature(At.LINE, Metric.COMMUNICATION)
    risk = Risk.LOW
    severity = Severity.INFO

    fires = (
        Example(
            "As in many scripts that train diffusion models.",
            """\
import torch
from accelerate import Accelerator


def main(args, unet, optimizer, loader):
    accelerator = Accelerator()
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)
    train_loss = 0.0
    for step, batch in enumerate(loader):
        with accelerator.accumulate(unet):
            loss = torch.nn.functional.mse_loss(unet(batch["noisy"]), batch["noise"])
            average = «accelerator.gather(loss.repeat(args.batch_size))».mean()
            train_loss += average.item() / args.accumulation
            accelerator.backward(loss)
            optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "Every fiftieth step, after the epoch, and to evaluate.",
            """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()


def train(model, optimizer, loader):
    for step, batch in enumerate(loader):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        if step % 50 == 0:
            print(accelerator.gather(loss).mean().item())
    return accelerator.gather(loss)


def evaluate(model, loader):
    losses = []
    for batch in loader:
        losses.append(accelerator.gather_for_metrics(model(**batch).loss))
    return torch.cat(losses)
""",
        ),
        Example(
            "A tensor's own gather, and a contrastive loss over all GPUs.",
            """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()


def train(model, optimizer, loader, index):
    for batch in loader:
        num_losses = accelerator.gather(batch["mask"].sum())
        count = accelerator.gather(num_losses).sum()
        features = accelerator.gather(model(batch)) / count
        loss = features.gather(0, index).mean()
        accelerator.backward(loss)
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if "accelerator" not in last_name(node.func.value).lower() or not node.args:
            return None
        names = [part.id for part in ast.walk(node.args[0]) if isinstance(part, ast.Name)]
        if not any(map(_is_a_loss, names)) or facts.hotness(node) is not Hotness.STEP:
            return None
        function = facts.function(node)
        if function is not None and function.role is Role.EVALUATE:
            return None
        loops = loops_around(node, facts)
        if not loops or not any(_is_backward(part) for part in ast.walk(loops[0])):
            return None
        return Verdict(
            node,
            f"`{short(node)}` makes all GPUs wait for each other {facts.why_hot(node)}, for a figure in a "
            "log. Sum the loss on each GPU and gather the sum every N steps.",
            Confidence.CERTAIN,
        )


def _is_a_loss(name: str) -> bool:
    """Whether a name stands for a loss, and not for how many there are or which count."""
    return "loss" in name and not name.startswith(("num_", "n_", "count")) and "mask" not in name


def _is_backward(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "backward"
