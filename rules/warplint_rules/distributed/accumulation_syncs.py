from __future__ import annotations

import ast
import re

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness, Severity
from warplint.static.parsing.tree import dotted, last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables import frequency
from warplint_rules._loops import FUNCTIONS, loops_around
from warplint_rules.distributed._wrapping import wraps_in_ddp

SWITCHES = {"no_sync", "require_backward_grad_sync", "set_requires_gradient_sync"}
"""What keeps a backward pass from summing gradients over processes."""
ACCUMULATION = Pattern(r"\w*accum\w*|\w*(update|opt|optimizer)_(freq|every|interval)\w*", re.IGNORECASE)
LIBRARIES = Pattern(r"(\w*_)?(accelerator|booster|engine|fabric|trainer)")
"""What runs a backward pass for a library that knows when to sum."""


class AccumulationSyncsEachTime(Rule):
    """Gradients are accumulated over several backward passes, and each of them sums over all processes.

    ## Why is this slow?

    `DistributedDataParallel` sums gradients over all processes in every backward pass. With accumulation only
    the last sum before the optimizer's step is needed: the others move as many bytes as the model has
    parameters, for nothing. Inside `with model.no_sync():` a backward pass only adds to the gradients of its
    own process.

    This is a note, as it depends on how fast the processes are linked. Measured on two H200 joined by NVLink
    with torch 2.11: a step in 4 parts took 1.04 times as long, which is within what two runs differ by.
    Between machines, where sending takes longer, it was not measured.

    ## When it stays silent

    - with `no_sync()`, `require_backward_grad_sync` or `set_requires_gradient_sync` in the file;
    - where the file wraps no model in `DistributedDataParallel`;
    - where a library runs the backward pass (Accelerate, Fabric, DeepSpeed): they know when to sum;
    - where the condition before the optimizer's step does not say that it is about accumulation.

    ## Fix safety

    There is no automatic fix: forward and backward pass of all micro-batches but the last belong inside
    `with model.no_sync():`, which needs to know which one is the last. The gradients are the same up to the
    order in which they are added up. With FSDP, `no_sync` keeps whole gradients and takes more memory.

    ## Sources

    - PyTorch tuning guide, "Skip unnecessary all-reduce if training with DistributedDataParallel and gradient
      accumulation"
    - documentation of `DistributedDataParallel.no_sync`
    - measured on two H200, torch 2.11: `bench/results/h200/distributed_gains.txt`
    """

    code = "WL703"
    name = "accumulation-syncs-each-time"
    wants = wants(methods={"backward"})
    proof = Signature(At.LINE, Metric.COMMUNICATION)
    risk = Risk.MEDIUM
    severity = Severity.INFO
    preview = True

    fires = (
        Example(
            "A step every few batches.",
            """\
from torch.nn.parallel import DistributedDataParallel


def main(args, model, loader, optimizer):
    model = DistributedDataParallel(model, device_ids=[args.rank])
    for i, images in enumerate(loader):
        loss = model(images.cuda()).mean() / args.accumulation
        «loss.backward()»
        if (i + 1) % args.accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
""",
        ),
    )

    quiet = (
        Example(
            "The sums of all but the last are left out, by either way.",
            """\
import contextlib

from torch.nn.parallel import DistributedDataParallel


def main(args, model, loader, optimizer):
    model = DistributedDataParallel(model, device_ids=[args.rank])
    for i, images in enumerate(loader):
        is_last = (i + 1) % args.accumulation == 0
        with contextlib.nullcontext() if is_last else model.no_sync():
            (model(images.cuda()).mean() / args.accumulation).backward()
        if (i + 1) % args.accumulation == 0:
            optimizer.step()
""",
        ),
        Example(
            "A step every batch, beside another way to run.",
            """\
from torch.nn.parallel import DistributedDataParallel


def main(args, model, loader, optimizer):
    model = DistributedDataParallel(model, device_ids=[args.rank])
    for i, images in enumerate(loader):
        if args.accumulation == 1:
            model(images.cuda()).mean().backward()
            optimizer.step()
        if i % args.log_every == 0:
            print(i)
""",
        ),
        Example(
            "A library that knows when to sum.",
            """\
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs
from torch.nn.parallel import DistributedDataParallel


def main(args, model, loader, optimizer):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    model = DistributedDataParallel(model)
    for i, images in enumerate(loader):
        accelerator.backward(model(images).mean())
        if (i + 1) % args.accumulation == 0:
            optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if not wraps_in_ddp(facts) or facts.hotness(node) is not Hotness.STEP:
            return None
        if LIBRARIES.fullmatch(last_name(node.func.value)) or _switches(node, facts):
            return None
        loop = next(iter(loops_around(node, facts)), None)
        if not isinstance(loop, ast.For | ast.While) or not _accumulates(node, loop, facts):
            return None
        return Verdict(
            node,
            "Each of these backward passes sums the gradients over all processes, and only the last before "
            "the optimizer's step has to. Run the others inside `with model.no_sync():`.",
            Confidence.LIKELY,
        )


def _switches(node: ast.expr, facts: Facts) -> bool:
    """Whether the sums are switched off anywhere: in the file by a call, in the function by a setting."""
    if facts.calls_any(SWITCHES):
        return True
    around: ast.AST | None = node
    outermost = None
    while around is not None:
        if isinstance(around, FUNCTIONS):
            outermost = around
        around = facts.parent(around)
    return outermost is not None and any(
        isinstance(part, ast.Attribute) and part.attr in SWITCHES for part in ast.walk(outermost)
    )


def _accumulates(backward: ast.Call, loop: ast.For | ast.While, facts: Facts) -> bool:
    """Whether the optimizer's step beside a backward pass stands behind a condition about accumulation."""
    below: ast.AST = facts.statement(backward)
    while below is not loop:
        above = facts.parent(below)
        if above is None:
            return False
        for block in (getattr(above, name, []) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and below in block:
                others = (statement for statement in block if statement is not below)
                if any(map(_steps_seldom, others)):
                    return True
        below = above
    return False


def _steps_seldom(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.If)
        and _is_about_accumulation(statement.test)
        and any(
            _is_step(part.func)
            for inner in statement.body
            for part in ast.walk(inner)
            if isinstance(part, ast.Call)
        )
    )


def _is_about_accumulation(test: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Name | ast.Attribute) and ACCUMULATION.fullmatch(last_name(part))
        for part in ast.walk(test)
    )


def _is_step(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr != "step":
        return last_name(function) == "optimizer_step"
    owner = last_name(function.value)
    return dotted(function.value) is not None and frequency.OPTIMIZER.fullmatch(owner) is not None
