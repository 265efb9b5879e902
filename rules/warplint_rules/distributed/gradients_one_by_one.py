from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import argument, is_set
from warplint_rules._loops import loops_around


class GradientsOneByOne(Rule):
    """Gradients are summed over all processes with one collective a parameter, after the backward pass.

    ## Why is this slow?

    Each collective costs some tens of microseconds before the first byte moves, and most gradients are small:
    a model of 300 parameters pays that 300 times a step. And nothing is sent while the backward pass still
    computes. `DistributedDataParallel` packs gradients into buckets of 25 MB and sends each as soon as it is
    complete.

    This is a note: measured on two H200 joined by NVLink with torch 2.11, a step with 144 collectives took
    1.04 times as long as with one, which is within what two runs differ by. Between machines, where it was
    not measured, each takes longer.

    ## When it stays silent

    - with `async_op=True`: then the collectives at least queue up;
    - for what is no gradient, and outside a loop.

    ## Fix safety

    There is no automatic fix. Wrap the model in `DistributedDataParallel`; where that is not possible, sum
    the gradients as one flat tensor (`torch.cat` of their flattened views, or
    `torch._utils._flatten_dense_tensors`), and divide that.

    ## Sources

    - documentation of `DistributedDataParallel`, `bucket_cap_mb`
    - Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", 2020: gradient
      bucketing, and why collectives on small tensors are slow
    - measured on two H200, torch 2.11: `bench/results/h200/distributed_gains.txt`
    """

    code = "WL705"
    name = "gradients-reduced-one-by-one"
    wants = wants(calls={"torch.distributed.all_reduce"})
    proof = Signature(At.LINE, Metric.COMMUNICATION)
    risk = Risk.MEDIUM
    severity = Severity.INFO
    preview = True

    fires = (
        Example(
            "In a function, and in the training loop.",
            """\
import torch.distributed as dist


def average_gradients(model):
    for param in model.parameters():
        if param.grad is not None:
            «dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)»
            param.grad.data /= dist.get_world_size()


def train(model, loader, optimizer):
    for images in loader:
        model(images.cuda()).mean().backward()
        for _, p in model.named_parameters():
            «dist.all_reduce(p.grad)»
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "One flat tensor, collectives that queue up, and no gradients.",
            """\
import torch
import torch.distributed as dist


def average_gradients(model, meters):
    gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    flat = torch.cat(gradients)
    dist.all_reduce(flat)
    waiting = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
    for meter in meters:
        dist.all_reduce(meter.total)
    dist.all_reduce(model.scale.grad)
    return flat, waiting
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        summed = argument(node, 0, "tensor")
        parameter = _gradient_of(summed) if summed is not None else None
        if parameter is None or is_set(node, "async_op"):
            return None
        loop = next((loop for loop in loops_around(node, facts) if isinstance(loop, ast.For)), None)
        if loop is None or not _binds(loop.target, parameter):
            return None
        return Verdict(
            node,
            "Each gradient is summed over all processes by itself, and only after the backward pass. Use "
            "`DistributedDataParallel`, or sum them as one flat tensor.",
            Confidence.CERTAIN,
        )


def _gradient_of(node: ast.expr) -> str | None:
    """``p`` for ``p.grad`` and ``p.grad.data``."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == "grad" and isinstance(node.value, ast.Name):
        return node.value.id
    return None


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(target))
