from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts, Role
from warplint.static.finding import Confidence, Hotness
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.class_roles import HOST_ROLES
from warplint.static.tables.words import words
from warplint.static.values import Kind, Place, Value
from warplint_rules._loops import Loop, loops_around
from warplint_rules._programs import stays_on_cpu
from warplint_rules._roles import QUIET_ROLES
from warplint_rules._tests import is_test
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import CASTS, STEPS

READS = {"item", "tolist"}
ON_CPU = Pattern(
    r"(?!(\w*_)?(collect|copy|gather|host|merge|move|to)(_\w+)?_cpu)\w+(?<!from)(?<!offload)(?<!on)(?<!to)_cpu"
)
"""Forms of a function for the CPU, as ``nms_cpu``; what copies there, as ``gather_cpu``, is none."""
COPIES = {"clone", "contiguous", "cpu", "data", "detach", "float"}
"""What stands between a tensor and the read of it, and changes nothing about how often it is read."""
MAKERS = {"torch.as_tensor", "torch.from_numpy", "torch.tensor"}
"""What makes a tensor of an element that is on the host."""
COLD_ROLES = QUIET_ROLES | {Role.SCRIPT}
OF_MODULES = words("buffers modules named_buffers named_modules named_parameters parameters state_dict")
"""Methods by which a loop goes over what a model is made of."""
MAX_NAMES = 3
"""Names that are followed from what is read to the loop it comes from."""


class ReadElementByElement(Rule):
    """A loop over a tensor, or over a collection of tensors, reads them one by one.

    ## Why is this slow?

    Each `.item()`, `float()` or condition copies one number to the host and waits for all work queued on the
    GPU, so a loop over a thousand elements waits a thousand times. One read of them all waits once. Measured
    on an H200 with torch 2.11: `.item()`, `.tolist()`, `float()` and a condition each wait for the queue to
    drain, whatever the tensor's size.

    ## When it stays silent

    - in code that runs every step, of which WL201 speaks, and in code that runs once;
    - for tensors that were copied to the CPU before the loop, or built there, and for NumPy arrays;
    - in data sets, transforms, processors, set-up and tests, and in forms for the CPU (`nms_cpu`);
    - for parameters and buffers of a model, unless gradients are read: that is done now and then, to look;
    - in a program that trains a model of its own and names no device at all;
    - where the loop's round reads something that is not one of what it goes over.

    ## Fix safety

    There is no automatic fix. Read a tensor with one `.tolist()` before the loop; `torch.stack` numbers that
    are tensors each, and read those with one `.tolist()`; or select on the GPU first, and loop over what is
    left.

    ## Sources

    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization"
    - Lightning-AI/pytorch-lightning#1637 and UKPLab/sentence-transformers#2277: such loops, rewritten
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL225"
    name = "read-element-by-element"
    wants = wants(methods=READS, builtins=CASTS, conditions=True)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A condition on each row's best score.",
            """\
import torch


def report(scores: torch.Tensor, threshold: float, lines: list):
    best, _ = scores.topk(10)
    for row in range(len(best)):
        if «best[row][-1] >= threshold»:
            lines.append(row)
""",
        ),
        Example(
            "Rows at places that are computed from what the loops count.",
            """\
import torch


def best(tokens: torch.Tensor, beams: int, groups: int):
    kept = []
    for group in range(groups):
        for beam in range(beams):
            place = group * beams + beam
            kept.append(«tokens[place].tolist()»)
        kept.append(«tokens[group + 1].tolist()»)
    return kept
""",
        ),
        Example(
            "The norm of each gradient, read as soon as it is known.",
            """\
import torch


def norms(model: torch.nn.Module):
    total = 0.0
    for parameter in model.parameters():
        norm = parameter.grad.norm()
        total += «norm.item()» ** 2
    return total**0.5
""",
        ),
        Example(
            "A function that copies to the CPU is no form for the CPU.",
            """\
import torch


def results_to_host_cpu(starts: torch.Tensor, width: int, found: list[int]):
    for row in range(width):
        found.append(«starts[row * width].item()»)
""",
        ),
        Example(
            "Whatever is a tensor among the metrics.",
            """\
import torch


class Metrics:
    def numbers(self, metrics):
        found = {}
        for name, value in metrics.items():
            if isinstance(value, torch.Tensor):
                value = «value.item()»
            found[name] = value
        return found
""",
        ),
        Example(
            "Boxes of an image, one by one.",
            """\
import torch


def report(areas: list[torch.Tensor], labels: list[list[int]]):
    lines = []
    for image, found in enumerate(labels):
        for place, label in enumerate(found):
            lines.append((label, «areas[image][place].cpu().tolist()»))
    return lines
""",
        ),
    )

    quiet = (
        Example(
            "Read at once, before the loop.",
            """\
import torch


def communities(scores: torch.Tensor, threshold: float):
    best = scores.topk(10)[0].tolist()
    return [row for row, found in enumerate(best) if found[-1] >= threshold]
""",
        ),
        Example(
            "On the CPU already.",
            """\
import torch


def show(scores: torch.Tensor):
    for score in scores.cpu():
        print(score.item())
""",
        ),
        Example(
            "The same tensor in each round, which is no element.",
            """\
import torch


def grow(limit: torch.Tensor, names: list):
    for name in names:
        print(name, limit.item())
""",
        ),
        Example(
            "A whole tensor for each image: its rows have to be on the host.",
            """\
import torch


def boxes(found: list[torch.Tensor]):
    return [image.cpu().tolist() for image in found]
""",
        ),
        Example(
            "Numbers of the host that are sent to other ranks.",
            """\
import torch


def shared(results: dict, device: torch.device):
    for name, value in list(results.items()):
        value = torch.as_tensor(value, device=device)
        torch.distributed.broadcast(value, src=0)
        results[name] = float(value.cpu())
""",
        ),
        Example(
            "A look at all parameters of a model.",
            """\
import torch


def sums(model: torch.nn.Module):
    return {name: value.data.sum().item() for name, value in model.named_parameters()}


def broken(model: torch.nn.Module):
    for name, value in model.state_dict().items():
        if torch.isnan(value).any():
            return name
""",
        ),
        Example(
            "A test, on tiny input.",
            """import unittest

import torch


class TestScores(unittest.TestCase):
    def compare(self, scores: torch.Tensor, expected: torch.Tensor):
        for row in range(len(scores)):
            assert scores[row].sum() == expected[row].sum()
""",
        ),
        Example(
            "The form of a function that is for the CPU.",
            """\
import torch


def fill_cpu(starts: torch.Tensor, width: int, found: list[int]):
    for row in range(width):
        found.append(starts[row * width].item())
""",
        ),
        Example(
            "Drop rates of a model that is set up.",
            """\
import torch
from torch import nn


def build_stages(depth, rates: torch.Tensor):
    return nn.ModuleList(nn.Dropout(rate.item()) for rate in rates)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if facts.hotness(node) not in (Hotness.UNKNOWN, Hotness.EPOCH) or _is_cold(node, facts):
            return None
        loops = loops_around(node, facts)
        # Asked before values are: what a file is for is told without evaluating its functions.
        read = _read(node) if loops and not is_test(facts) and not stays_on_cpu(facts) else None
        if read is None or not _may_be_on_the_gpu(facts.value(read)):
            return None
        if not any(_is_element(read, loop, node, facts) for loop in loops):
            return None
        proven = facts.value(read).place is Place.ACCELERATOR
        confidence = Confidence.LIKELY if proven else Confidence.POSSIBLE
        what = f"`{short(node)}`" if _is_call(node) else f"The test of `{short(node)}`"
        return Verdict(
            node,
            f"{what} makes the host wait for the GPU once for each element of this loop. Read them all "
            "with one `.tolist()` before it, or stack them and read once after it.",
            confidence,
        )


def _is_cold(node: ast.expr, facts: Facts) -> bool:
    function = facts.function(node)
    if function is None or function.role in COLD_ROLES or function.class_role in HOST_ROLES:
        return True
    return ON_CPU.fullmatch(function.name) is not None


def _is_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (
        (isinstance(node.func, ast.Attribute) and node.func.attr in READS)
        or (isinstance(node.func, ast.Name) and node.func.id in CASTS)
    )


def _read(node: ast.expr) -> ast.expr | None:
    """The tensor whose content a site reads, before it is copied."""
    if not _is_call(node):
        return node if isinstance(node, (ast.Compare, ast.Call)) else None
    assert isinstance(node, ast.Call)
    read: ast.expr | None = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute):
        read = node.func.value
    while read is not None:
        inner = read.func if isinstance(read, ast.Call) else read
        if not isinstance(inner, ast.Attribute) or inner.attr not in COPIES:
            return read
        read = inner.value
    return None


def _may_be_on_the_gpu(value: Value) -> bool:
    return value.is_tensor and not value.on_cpu


def _is_element(read: ast.expr, loop: Loop, node: ast.expr, facts: Facts) -> bool:
    """Whether what is read is one of what the loop goes over, or the element at the place it counts."""
    if isinstance(loop, ast.While) or _steps(loop):
        return False
    targets = {name.id for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
    takes_rows = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tolist"
    )
    parts = list(_parts(read, targets, facts))
    if _goes_over_model(loop) and not any("grad" in last_name(part) for part in parts):
        return False
    return any(
        _is_at(part, targets, facts) or (not takes_rows and _is_one(part, targets, facts)) for part in parts
    )


def _steps(loop: Loop) -> bool:
    """Whether a loop trains, collects or runs for epochs: what it goes over are no elements."""
    return any(isinstance(part, ast.Attribute) and part.attr in STEPS for part in ast.walk(loop))


def _goes_over_model(loop: ast.For | ast.AsyncFor | ast.comprehension) -> bool:
    """Whether a loop goes over the parameters, buffers or modules of a model."""
    called = {part.attr for part in ast.walk(loop.iter) if isinstance(part, ast.Attribute)}
    return bool(called & OF_MODULES)


def _is_made_of(names: set[str], made: ast.AST | None, facts: Facts) -> bool:
    """Whether a call makes a tensor of what a loop goes over, which then was on the host."""
    return (
        isinstance(made, ast.Call)
        and facts.qualified(made.func) in MAKERS
        and any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(made))
    )


def _parts(read: ast.expr, targets: set[str], facts: Facts) -> Iterator[ast.expr]:
    """What is read and everything in it, through the names it was given on the way."""
    waiting: list[ast.AST] = [read]
    seen = 0
    while waiting:
        part = waiting.pop()
        origin = facts.value(part).origin if isinstance(part, ast.Name) else None
        if any(_is_made_of(targets, made, facts) for made in (part, origin)):
            continue
        if isinstance(part, ast.expr):
            yield part
        waiting.extend(ast.iter_child_nodes(part))
        if origin is not None and origin is not part and seen < MAX_NAMES:
            seen += 1
            waiting.append(origin)


def _is_at(part: ast.expr, targets: set[str], facts: Facts) -> bool:
    """``t[i]`` of a tensor that may be on the GPU, at the place a loop counts."""
    if not isinstance(part, ast.Subscript) or not _may_be_on_the_gpu(facts.value(part.value)):
        return False
    index = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
    return any(_counts(place, targets, facts) for place in index)


def _counts(place: ast.expr, targets: set[str], facts: Facts) -> bool:
    """Whether a position is what a loop counts, or is computed from that: ``i + 1``, ``row * width + i``."""
    if facts.value(place).kind not in (Kind.NUMBER, Kind.UNKNOWN):
        return False
    if isinstance(place, ast.Name) and place.id not in targets:
        computed = facts.value(place).origin
        return isinstance(computed, ast.BinOp) and _counts(computed, targets, facts)
    if isinstance(place, ast.BinOp):
        sides = (place.left, place.right)
        return isinstance(place.op, ast.Add | ast.Sub | ast.Mult) and any(
            isinstance(side, ast.Name | ast.BinOp) and _counts(side, targets, facts) for side in sides
        )
    return isinstance(place, ast.Name)


def _is_one(part: ast.expr, targets: set[str], facts: Facts) -> bool:
    return isinstance(part, ast.Name) and part.id in targets and _may_be_on_the_gpu(facts.value(part))
