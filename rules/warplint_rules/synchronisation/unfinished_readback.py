from __future__ import annotations

import ast

from warplint.static.facts import Facts, UseKind
from warplint.static.finding import Confidence
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import keyword
from warplint_rules._text import short

WAITS = {"cpu", "query", "record_stream", "result", "synchronize", "wait", "wait_event", "wait_stream"}
"""Methods after which copies in the background are done, or somebody is told to wait for them."""
HELD_OPEN = 2
"""Uses that are followed from the copy: through a view or a conversion."""


class UnfinishedReadback(Rule):
    """A copy to the CPU is started in the background and read before anything waits for it.

    ## Why is this slow?

    It is not slow but wrong. `x.to("cpu", non_blocking=True)` returns before the GPU has written anything:
    Python then reads whatever is in that memory. Measured on an H200 with torch 2.11: the call returns at
    once while the work that computes `x` is still queued. The numbers look right as long as the GPU is idle.

    ## When it stays silent

    - when the function waits for a stream, an event or the device (`synchronize`, `wait`, `wait_stream`);
    - when the copy is returned, stored or handed on: whoever reads it may wait;
    - for copies to a device, and for tensors that are on the CPU anyway.

    ## Fix safety

    There is no automatic fix, because there are two. Leave `non_blocking` out where the content is needed at
    once. Where there is something to do meanwhile, record an event after the copy and call its
    `synchronize()` before you read.

    ## Sources

    - PyTorch tutorial on `pin_memory` and `non_blocking`: copies from the GPU need a synchronisation
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL211"
    name = "unfinished-readback"
    wants = wants(methods={"to"})
    proof = Signature(At.LINE, Metric.NONE)
    risk = Risk.LOW
    preview = True

    fires = (
        Example(
            "Read at once, through NumPy and through a name.",
            """\
import torch


@torch.no_grad()
def predict(model, images):
    scores = model(images.cuda()).softmax(-1)
    best = «scores.argmax(-1).to("cpu", non_blocking=True)»
    array = «scores.to(device="cpu", non_blocking=True)».numpy()
    return [int(index) for index in best.tolist()], array
""",
        ),
    )

    quiet = (
        Example(
            "An event is waited for, or the copy waits.",
            """\
import torch


@torch.no_grad()
def predict(model, images):
    scores = model(images.cuda()).softmax(-1)
    copied = scores.to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    done.synchronize()
    return copied.numpy()


def simple(model, images):
    scores = model(images.cuda()).softmax(-1)
    return scores.to("cpu").numpy()
""",
        ),
        Example(
            "Handed on, for somebody else to wait.",
            """\
import torch


class Offload:
    def save(self, x: torch.Tensor):
        self.kept.append(x.to("cpu", non_blocking=True))
        return x.to("cpu", non_blocking=True)
""",
        ),
        Example(
            "To the GPU.",
            """\
import torch


def predict(model, images: torch.Tensor):
    scores = model(images.to("cuda", non_blocking=True))
    return scores.tolist()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        if not _copies_in_the_background(node):
            return None
        function = facts.function(node)
        if function is None or _waits(function.node) or facts.value(node.func.value).on_cpu:
            return None
        if not _is_read(node, facts):
            return None
        return Verdict(
            node,
            f"`{short(node)}` returns before the copy is done, and nothing waits for it before Python reads "
            "the result. Leave `non_blocking` out, or wait for an event first.",
            Confidence.LIKELY,
        )


def _copies_in_the_background(call: ast.Call) -> bool:
    return _goes_to_the_cpu(call) and _is_flagged(call)


def _goes_to_the_cpu(call: ast.Call) -> bool:
    target = keyword(call, "device") or (call.args[0] if call.args else None)
    if isinstance(target, ast.Call):
        target = target.args[0] if len(target.args) == 1 else None
    return isinstance(target, ast.Constant) and target.value == "cpu"


def _is_flagged(call: ast.Call) -> bool:
    flag = keyword(call, "non_blocking")
    return isinstance(flag, ast.Constant) and flag.value is True


def _waits(function: ast.AST) -> bool:
    """Whether a function waits for something: a copy that is not in the background waits as well."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(
        isinstance(call.func, ast.Attribute)
        and (call.func.attr in WAITS or (_goes_to_the_cpu(call) and not _is_flagged(call)))
        for call in calls
    )


def _is_read(node: ast.expr, facts: Facts) -> bool:
    """Whether Python reads the copy, or what is computed from it on the CPU."""
    waiting = [node]
    for _ in range(HELD_OPEN):
        uses = [use for value in waiting for use in facts.uses(value)]
        if any(use.kind is UseKind.HOST for use in uses):
            return True
        waiting = [use.node for use in uses if use.kind is UseKind.OTHER and isinstance(use.node, ast.expr)]
    return False
