from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.inference.arguments import is_off
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Place
from warplint_rules._calls import argument
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, operand, waiting

if TYPE_CHECKING:
    from warplint.static.values import Value


class ReadbackIntoPageable(Rule):
    """A GPU tensor is copied with `non_blocking=True` into CPU memory that is not pinned.

    ## Why is this slow?

    The GPU can only write by itself into pinned memory. Into pageable memory CUDA copies by way of a buffer
    of its own and waits until it is done, whatever `non_blocking` says: the host waits for the copy and for
    all work queued before. Measured on an H200 with torch 2.11: `cpu.copy_(gpu, non_blocking=True)` waits for
    the whole queue, and with a pinned target for nothing. `torch.cuda.set_sync_debug_mode` does not notice.

    ## When it stays silent

    - when the target may be pinned, or where it comes from is not known;
    - without `non_blocking=True`: the copy is meant to wait;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - outside code that runs every step.

    ## Fix safety

    There is no automatic fix. Allocate the target once with `pin_memory=True`, keep it, and wait for an event
    before you read it. `x.to("cpu", non_blocking=True)` allocates pinned memory by itself.

    ## Sources

    - PyTorch tutorial on `pin_memory` and `non_blocking`
    - vllm-project/vllm-omni#4860: 240 ms a step
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL210"
    name = "readback-into-pageable-memory"
    wants = wants(methods={"copy_"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "A buffer for the results that was not pinned.",
            """\
import torch


def train(model, loader, optimizer):
    kept = torch.empty(64, 10)
    for images in loader:
        output = model(images.cuda())
        output.mean().backward()
        optimizer.step()
        «kept.copy_(output.detach(), non_blocking=True)»
""",
        ),
    )

    quiet = (
        Example(
            "Pinned memory, and a copy that is meant to wait.",
            """\
import torch


def train(model, loader, optimizer):
    kept = torch.empty(64, 10, pin_memory=True)
    other = torch.empty(64, 10).pin_memory()
    last = torch.empty(64, 10)
    for images in loader:
        output = model(images.cuda())
        output.mean().backward()
        optimizer.step()
        kept.copy_(output.detach(), non_blocking=True)
        other.copy_(output.detach(), non_blocking=True)
        last.copy_(output.detach())
""",
        ),
        Example(
            "A target that the caller made, and a copy to the GPU.",
            """\
import torch


def train(model, loader, optimizer, kept):
    static = torch.empty(64, 10, device="cuda")
    for images in loader:
        static.copy_(images, non_blocking=True)
        output = model(static)
        output.mean().backward()
        optimizer.step()
        kept.copy_(output.detach(), non_blocking=True)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        flag = argument(node, 1, "non_blocking")
        if flag is None or is_off(flag) or not isinstance(flag, ast.Constant) or not counts(node, facts):
            return None
        source = argument(node, 0, "src", "other")
        target = operand(node, facts)
        if source is None or target is None or target is source:
            return None
        held = facts.value(target)
        if not facts.value(source).on_accelerator or not _is_pageable(held):
            return None
        return waiting(
            node,
            facts.value(source),
            f"`{short(node)}` {host_waits(node, facts)}, in spite of `non_blocking=True`, because "
            f"`{short(target)}` is not pinned. Allocate it once with `pin_memory=True`.",
        )


def _is_pageable(target: Value) -> bool:
    """Whether a tensor surely is in memory that was not pinned: its factory is seen."""
    return target.place is Place.CPU and not target.pinned and target.qualified is not None
