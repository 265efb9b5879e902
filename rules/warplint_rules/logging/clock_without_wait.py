from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.parsing.tree import LoopNode, last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.structure.location import is_aside
from warplint.static.values import Kind
from warplint_rules._text import short

CLOCKS = {
    "time.monotonic", "time.perf_counter", "time.perf_counter_ns", "time.time", "time.time_ns",
    "timeit.default_timer",
}  # fmt: skip

WAITS = {
    "cpu", "elapsed_time", "item", "numpy", "print", "synchronize", "tolist", "wait", "block_until_ready",
    "save", "barrier", "float", "int", "bool", "wait_stream", "synchronize_device",
}  # fmt: skip
"""Calls after which the GPU has done what was asked of it, or where the code sees to that itself."""


class ClockWithoutWait(Rule):
    """A clock is read after work was queued on the GPU, before the GPU has done it.

    ## Why is this slow?

    It is not slow, but it says that slow code is fast: a call of a model returns once its kernels are queued.
    What `time.time()` measures is how long Python took to queue them, and the wait shows up in whatever reads
    a result next. Decisions made on such figures go wrong.

    ## When it stays silent

    - where anything between the two readings waits: `torch.cuda.synchronize()`, `.item()`, `.cpu()`, `print`;
    - where no call of a model stands between them, in the same block, or the model is on the CPU;
    - where a function that may wait runs the model, and around whole loops, whose rounds mostly wait.

    ## Fix safety

    There is no automatic fix: call `torch.cuda.synchronize()` before each reading of the clock while you
    measure, or record events and read them later, which costs nothing.

    ## Sources

    - CUDA semantics, "Asynchronous execution": "time measurements without synchronizations are not accurate"
    - torch.cuda.Event
    """

    code = "WL565"
    name = "clock-without-wait"
    wants = wants(calls=CLOCKS)
    proof = Signature(At.RUN, Metric.HOST_TIME)
    risk = Risk.LOW
    preview = True
    severity = Severity.HINT

    fires = (
        Example(
            "How long a model seems to take.",
            """\
import time

import torch
from torch import nn


def evaluate(model: nn.Module, loader, meter):
    for images, labels in loader:
        images = images.cuda()
        start = time.time()
        outputs = model(images)
        meter.update(«time.time()» - start)
""",
        ),
    )

    quiet = (
        Example(
            "The GPU is waited for, in one way or another.",
            """\
import time

import torch
from torch import nn


def evaluate(model: nn.Module, loader, meter):
    start = time.time()
    for images, labels in loader:
        images = images.cuda()
        begin = time.time()
        outputs = model(images)
        torch.cuda.synchronize()
        meter.update(time.time() - begin)
        begin = time.time()
        best = model(images).argmax().item()
        meter.update(time.time() - begin)
    return time.time() - start
""",
        ),
        Example(
            "Nothing of the GPU is measured, or a function that may wait.",
            """\
import time

import torch
from torch import nn


def load(path, model: nn.Module):
    start = time.time()
    data = torch.load(path)
    print(time.time() - start)
    start = time.time()
    result = evaluate(model, data)
    print(time.time() - start)
    return result


def evaluate(model, data):
    return model(data.cuda()).argmax().item()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        difference = facts.parent(node)
        if not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
            return None
        if difference.left is not node or not isinstance(difference.right, ast.Name) or is_aside(facts.path):
            return None
        between = _between(node, difference.right.id, facts)
        if any(isinstance(statement, LoopNode) for statement in between):
            return None
        calls = [part for statement in between for part in ast.walk(statement) if isinstance(part, ast.Call)]
        if any(last_name(call) in WAITS for call in calls):
            return None
        model = next((call for call in calls if _runs_a_model(call, facts)), None)
        if model is None:
            return None
        return Verdict(
            node,
            f"This measures how long it took to queue `{short(model)}`, not to run it. Call "
            "`torch.cuda.synchronize()` before reading the clock, or record events.",
            Confidence.LIKELY,
        )


def _between(node: ast.expr, start: str, facts: Facts) -> list[ast.stmt]:
    """The statements of a block between the last reading of the clock into a name and this reading."""
    statement = facts.statement(node)
    block = _block_of(statement, facts)
    place = block.index(statement) if statement in block else 0
    for begin in range(place - 1, -1, -1):
        if start in _assigned(block[begin]):
            return block[begin + 1 : place]
    return []


def _block_of(statement: ast.stmt, facts: Facts) -> list[ast.stmt]:
    around = facts.parent(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(around, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return []


def _assigned(statement: ast.stmt) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return (target.id for target in targets if isinstance(target, ast.Name))


def _runs_a_model(call: ast.Call, facts: Facts) -> bool:
    """Whether a call runs a model on the GPU, as far as its arguments or its result show."""
    if facts.value(call.func).kind is not Kind.MODULE:
        return False
    handed = [*call.args, *(given.value for given in call.keywords)]
    return any(facts.value(part).on_accelerator for part in (call, *handed))
