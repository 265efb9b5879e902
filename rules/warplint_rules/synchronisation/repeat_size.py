from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Value
from warplint_rules._calls import argument, has_unpacking, is_set
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, operand, position_after, waiting

_COUNTS = Pattern(r"(\w*_)?(counts|dur|durs|durations|lens|lengths|repeats|sizes)")
"""Parameters by whose name there is one number for each element."""


class RepeatWithoutSize(Rule):
    """`repeat_interleave` gets its repeats as a tensor and is not told how long the result is.

    ## Why is this slow?

    The length of the result is the sum of the repeats, which only the GPU knows: the host stops until all
    work queued so far is done, and reads it. Measured on an H200 with torch 2.11: it waits for the whole
    queue, and for nothing with `output_size=…` or with one number as repeats.

    ## When it stays silent

    - with `output_size`, and where the repeats are a Python number;
    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the repeats are a tensor.

    ## Fix safety

    There is no automatic fix: the length has to come from somewhere. Mostly it is there already, as the
    number of tokens, edges or nodes of the batch: pass `output_size=that`. Where it is only the sum of the
    repeats, take that sum once a batch on the host, where the batch is built.

    ## Sources

    - documentation of `torch.repeat_interleave`: given `output_size`, it does not synchronize
    - facebookresearch/fairchem#2123: `output_size` passed for that reason
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL206"
    name = "repeat-without-size"
    wants = wants(calls={"torch.repeat_interleave"}, methods={"repeat_interleave"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Graph features repeated for the nodes of each graph, and numbers of their sequences.",
            """\
import torch
from torch import nn


class Spread(nn.Module):
    def forward(self, features, counts: torch.Tensor):
        owners = «torch.repeat_interleave(counts)»
        return «features.repeat_interleave(counts, dim=0)», owners
""",
        ),
    )

    quiet = (
        Example(
            "The size is known, or the repeats are one number.",
            """\
import torch
from torch import nn


class Spread(nn.Module):
    def forward(self, features, counts: torch.Tensor, total: int):
        beams = features.repeat_interleave(4, dim=0)
        twice = torch.repeat_interleave(features, repeats=2, dim=1)
        return features.repeat_interleave(counts, dim=0, output_size=total), beams, twice
""",
        ),
        Example(
            "A number that a parameter holds, and repeats on the CPU.",
            """\
import torch
from torch import nn


class Spread(nn.Module):
    def forward(self, features, num_beams, per_frame):
        frames = features.repeat_interleave(per_frame, dim=0)
        cpu = torch.arange(3).repeat_interleave(torch.tensor([1, 2, 3]))
        drawn = torch.arange(len(features)).repeat_interleave(self.draw(3).long())
        return features.repeat_interleave(num_beams, dim=0), cpu, drawn, frames
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if is_set(node, "output_size") or has_unpacking(node) or not counts(node, facts):
            return None
        repeats = _repeats(node, facts)
        if repeats is None or not repeats.on_accelerator:
            return None
        return waiting(
            node,
            repeats,
            f"`{short(node)}` {host_waits(node, facts)}, to "
            "learn how long the result is. Pass `output_size=` where the length is known on the host.",
        )


def _repeats(call: ast.Call, facts: Facts) -> Value | None:
    """The tensor that says how often; alone, it is the only argument."""
    subject = operand(call, facts)
    repeats = argument(call, position_after(call, subject, 1), "repeats")
    if subject is not None and facts.value(subject).on_cpu:
        return None
    if repeats is None:
        alone = len(call.args) + len(call.keywords) == 1 and subject in call.args
        repeats = subject if alone else None
    return None if repeats is None or _may_be_a_number(repeats, facts) else facts.value(repeats)


def _may_be_a_number(repeats: ast.expr, facts: Facts) -> bool:
    """Whether the repeats are a parameter that nothing says to be a tensor: mostly it is a number."""
    function = facts.function(repeats)
    if not isinstance(repeats, ast.Name) or function is None:
        return False
    arguments = function.node.args
    bare = {given.arg for given in [*arguments.args, *arguments.kwonlyargs] if given.annotation is None}
    return repeats.id in bare and _COUNTS.fullmatch(repeats.id) is None
