from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import keyword

GRAPH_MODES = {"reduce-overhead", "max-autotune"}
"""Modes that record CUDA graphs."""


class DynamicCudagraphs(Rule):
    """A function is compiled for CUDA graphs and for changing shapes at once.

    ## Why is this slow?

    `mode="reduce-overhead"` records the kernels of a call as a CUDA graph and plays it again, which works for
    one shape. With `dynamic=True` PyTorch compiles one kernel for many shapes, and then records a graph for
    each new shape it meets: recording runs the function several times, and each graph keeps its memory.

    A hint: where only few shapes come, and come again, it is fine.

    ## When it stays silent

    - for one of the two settings alone, and for modes given as variables.

    ## Fix safety

    There is no automatic fix: pad to a few shapes and leave `dynamic` out, or take the default mode, or
    `"max-autotune-no-cudagraphs"`.

    ## Sources

    - PyTorch documentation, "CUDAGraph Trees": "dynamic shapes … re-record a new graph for every unique
      input size"
    """

    code = "WL544"
    name = "dynamic-cudagraphs"
    wants = wants(calls=["torch.compile"])
    proof = Signature(At.RUN, Metric.HOST_TIME)
    risk = Risk.MEDIUM
    preview = True
    severity = Severity.HINT

    fires = (
        Example(
            "Decoding with growing sequences.",
            """\
import torch


def load(model):
    return «torch.compile(model, mode="reduce-overhead", dynamic=True)»
""",
        ),
    )

    quiet = (
        Example(
            "One of the two.",
            """\
import torch


def load(model, mode):
    one = torch.compile(model, mode="reduce-overhead")
    two = torch.compile(model, dynamic=True)
    three = torch.compile(model, mode="max-autotune-no-cudagraphs", dynamic=True)
    four = torch.compile(model, mode="reduce-overhead", dynamic=False)
    return one, two, three, four, torch.compile(model, mode=mode, dynamic=True)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        mode, dynamic = keyword(node, "mode"), keyword(node, "dynamic")
        if not isinstance(mode, ast.Constant) or mode.value not in GRAPH_MODES:
            return None
        if not isinstance(dynamic, ast.Constant) or dynamic.value is not True:
            return None
        return Verdict(
            node,
            f'`mode="{mode.value}"` records a CUDA graph for each new shape that `dynamic=True` lets in. Pad '
            'to a few shapes, or use `mode="max-autotune-no-cudagraphs"`.',
            Confidence.LIKELY,
        )
