from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._loops import Loop, loops_around
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import STEPS

DEVICE_WIDE = {
    "torch.accelerator.synchronize",
    "torch.cuda.synchronize",
    "torch.mps.synchronize",
    "torch.xpu.synchronize",
}
CLOCKS = {
    "CUDAEvent", "Event", "default_timer", "elapsed_time", "monotonic", "perf_counter", "perf_counter_ns",
    "process_time", "record_function", "time", "time_ns", "Timer", "timeit", "timer",
}  # fmt: skip
"""What a function calls that measures time: there the wait is the point."""
WORDS = ("bench", "latency", "measure", "profil", "throughput", "time", "timing", "tune", "warmup")
"""Parts of the names of functions that measure."""
HARDWARE = Pattern(r"cuda|is_available|device")
"""What conditions say that hold on every machine with a GPU."""
EPOCHS = Pattern(r"\w*epoch\w*", re.IGNORECASE)
LOADERS = Pattern(r"\w*(loader|batches|dataset)\w*", re.IGNORECASE)


class SynchronizeInStepLoop(Rule):
    """The whole device is waited for in every round of a training loop.

    ## Why is this slow?

    `torch.cuda.synchronize()` stops the host until the GPU has done everything, on all streams. Then the
    GPU idles until the host has queued the next work. PyTorch orders work on a stream by itself and waits
    where Python reads a result, so a training step needs no such call. Reported elsewhere: 25% slower with
    it in one trainer.

    ## When it stays silent

    - where the function measures time, or is named for it: there the wait is the point. A loop over the
      batches of an epoch is reported all the same: it trains, and its clock costs every step;
    - outside a loop that runs `backward()` or an optimizer's step itself, and behind every condition;
    - for streams and events: they are waited for where two streams work together.

    ## Fix safety

    There is no automatic fix: the call may stand in for an order between streams that the code does not show
    otherwise. Take it out and compare the results. To know how long steps take, measure many at once, or
    record events (`torch.cuda.Event(enable_timing=True)`) and read them later.

    ## Sources

    - CUDA semantics, "Asynchronous execution"
    - HuguesTHOMAS/KPConv-PyTorch#22 and facebookresearch/ConvNeXt#106: asked about by users
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL212"
    name = "synchronize-in-step-loop"
    wants = wants(calls=DEVICE_WIDE)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "After each optimizer step.",
            """\
import torch


def train_one_epoch(model, loader, optimizer, meter):
    for images, labels in loader:
        loss = model(images.cuda(), labels.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if torch.cuda.is_available():
            «torch.cuda.synchronize()»
        meter.update(loss.detach())
""",
        ),
        Example(
            "For the clock of a loop over epochs.",
            """\
import time

import torch


def train(model, training_loader, optimizer, epochs):
    for epoch in range(epochs):
        for images in training_loader:
            start = time.time()
            optimizer.zero_grad()
            model(images.cuda()).mean().backward()
            optimizer.step()
            «torch.cuda.synchronize()»
            print(time.time() - start)
""",
        ),
    )

    quiet = (
        Example(
            "To measure time, outside the training of a model on data.",
            """\
import time

import torch


def train(model, loader, optimizer):
    for images in loader:
        start = time.time()
        model(images.cuda()).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        print(time.time() - start)


def benchmark(model, images):
    for _ in range(100):
        model(images.cuda()).mean().backward()
        torch.cuda.synchronize()
""",
        ),
        Example(
            "Behind a condition, after the loop, and in a loop that does not train.",
            """\
import torch


def train(model, loader, optimizer, exact):
    for step, images in enumerate(loader):
        model(images.cuda()).mean().backward()
        optimizer.step()
        if exact:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    for part in model.parts:
        part.load()
        torch.cuda.synchronize()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if facts.hotness(node) is not Hotness.STEP:
            return None
        function = facts.function(node)
        if function is not None and _is_named_for_time(function.name):
            return None
        loops = loops_around(node, facts)
        if not loops or isinstance(loops[0], ast.comprehension) or not _steps_with(node, loops[0], facts):
            return None
        is_timed = _measures(loops[0]) or (function is not None and _measures(function.node))
        if is_timed and not _is_epoch(loops):
            return None
        needs = (
            "Measure many steps at once, or record events and read them later."
            if is_timed
            else "Leave it out: PyTorch waits where a result is read."
        )
        return Verdict(
            node,
            f"`{short(node)}` waits for everything on the GPU {facts.why_hot(node)}, which then idles until "
            f"new work is queued. {needs}",
            Confidence.LIKELY if is_timed else Confidence.CERTAIN,
        )


def _is_epoch(loops: Sequence[Loop]) -> bool:
    """Whether loops are one over batches in one over epochs."""
    batches, *outer = loops
    if not isinstance(batches, ast.For) or not LOADERS.search(ast.unparse(batches.iter)):
        return False
    return any(isinstance(loop, ast.For) and EPOCHS.search(ast.unparse(loop.target)) for loop in outer)


def _steps_with(node: ast.expr, loop: ast.For | ast.AsyncFor | ast.While, facts: Facts) -> bool:
    """Whether the call stands in the body of a loop, whatever the options are, beside what trains."""
    statement: ast.AST | None = facts.statement(node)
    around = facts.parent(statement) if statement is not None else None
    if isinstance(around, ast.If) and HARDWARE.search(ast.unparse(around.test)) and not around.orelse:
        statement = around
    if statement not in loop.body:
        return False
    called = (part.func for part in ast.walk(loop) if isinstance(part, ast.Call))
    return any(isinstance(function, ast.Attribute) and function.attr in STEPS for function in called)


def _is_named_for_time(name: str) -> bool:
    return any(word in name.lower() for word in WORDS)


def _measures(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Call) and last_name(part) in CLOCKS for part in ast.walk(node))
