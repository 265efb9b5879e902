from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import argument

LIBRARY_CLASS = Pattern(r"\w*(Accelerator|Engine|Plugin|Strategy|Wrapper)")
"""Classes that offer `DataParallel` to those who ask for it, beside other ways."""


class UsesDataParallel(Rule):
    """`DataParallel` drives all GPUs from one Python process and copies the model to each of them every step.

    ## Why is this slow?

    In each forward pass, one process copies all parameters from the first GPU to the others, splits the
    batch, runs one Python thread a GPU (which take turns at the interpreter lock), and gathers the outputs on
    the first GPU; in the backward pass it adds up the gradients there. Nothing of that overlaps with
    computing, and the first GPU needs more memory than the others. `DistributedDataParallel` has one process
    a GPU, copies the parameters once, and sums gradients while the backward pass still runs. PyTorch's
    documentation recommends it even on a single machine. Measured on two H200 with torch 2.11: a training
    step of 12 encoder layers is 2.3 times as fast with it.

    ## When it stays silent

    - with one device in `device_ids`: then nothing is copied;
    - in classes of libraries that offer it to those who ask for it (`…Strategy`, `…Accelerator`).

    ## Fix safety

    There is no automatic fix: `DistributedDataParallel` needs one process a GPU (`torchrun`), a process group
    and a `DistributedSampler`. Inference needs none of that: one process a GPU, each with its share of the
    data.

    ## Sources

    - documentation of `torch.nn.DataParallel`, warning
    - PyTorch tuning guide, "Use DistributedDataParallel instead of DataParallel"
    - mlfoundations/open_clip#48: taken out, "slower than DDP"
    - measured on two H200, torch 2.11: `bench/results/h200/distributed_gains.txt`
    """

    code = "WL701"
    name = "data-parallel"
    wants = wants(calls={"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
    proof = Signature(At.RUN, Metric.COMMUNICATION)
    risk = Risk.HIGH

    fires = (
        Example(
            "A model wrapped for training, and a part of one.",
            """\
import torch
from torch import nn


def main(args, model):
    if torch.cuda.device_count() > 1:
        model = «nn.DataParallel(model)»
    model.encoder = «torch.nn.DataParallel(model.encoder, device_ids=list(range(args.gpus)))».cuda()
    return model
""",
        ),
    )

    quiet = (
        Example(
            "One device, one process a GPU, and asking what a model is.",
            """\
import torch
from torch import nn


def main(model, gpu):
    alone = nn.DataParallel(model, device_ids=[0])
    pinned = nn.DataParallel(model, [gpu])
    if isinstance(model, nn.DataParallel):
        model = model.module
    return nn.parallel.DistributedDataParallel(model, device_ids=[gpu]), alone, pinned
""",
        ),
        Example(
            "A library that offers it.",
            """\
from torch.nn import DataParallel


class ParallelStrategy:
    def setup_module(self, module):
        return DataParallel(module=module, device_ids=self.parallel_devices)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        devices = argument(node, 1, "device_ids")
        if isinstance(devices, ast.List | ast.Tuple) and len(devices.elts) == 1:
            return None
        function = facts.function(node)
        owner = function.class_name if function is not None else None
        if owner is not None and LIBRARY_CLASS.fullmatch(owner):
            return None
        return Verdict(
            node,
            "`DataParallel` copies the model to every GPU each step and drives them all from one Python "
            "process. Use `DistributedDataParallel` with one process a GPU (`torchrun`); for inference, one "
            "process a GPU.",
            Confidence.CERTAIN,
        )
