from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.settings._environment import SETTERS, value_set
from warplint_rules.settings._left_on import is_asked_for

VARIABLES = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")


class CachingAllocatorOff(Rule):
    """The program switches PyTorch's memory pool off: every tensor is allocated and freed by the driver.

    ## Why is this slow?

    Without the pool each new tensor is a `cudaMalloc` and each freed one a `cudaFree`. Both are slow calls,
    and `cudaFree` waits for everything that the GPU still has to do. PyTorch has the switch for memory
    checkers, which have to see every allocation. Measured on an H200 with torch 2.11: a training step of 20
    linear layers took about 9.7 ms without the pool and 5.9 ms with it.

    ## When it stays silent

    - behind a condition, and for a value that is a variable;
    - in functions and files that are named for debugging or tests.

    ## Fix safety

    There is no automatic fix: take the line out. If it is there against fragmentation,
    `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` is the setting to try.

    ## Sources

    - PyTorch documentation, "CUDA semantics", "Memory management"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL537"
    name = "caching-allocator-off"
    wants = wants(calls=SETTERS, settings=[f"os.environ.{variable}" for variable in VARIABLES])
    proof = Signature(At.RUN, Metric.ALLOCATION)
    risk = Risk.HIGH
    preview = True

    fires = (
        Example(
            "Set before torch is imported.",
            """\
import os

«os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"]» = "1"
import torch
""",
        ),
    )

    quiet = (
        Example(
            "For a memory checker only.",
            """\
import os
import torch


def main(args):
    if args.sanitize:
        os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if not any(value_set(node, variable, facts) for variable in VARIABLES) or is_asked_for(node, facts):
            return None
        return Verdict(
            node,
            "Without its memory pool PyTorch asks the driver for each tensor, and freeing one waits for all "
            "work on the GPU. Take it out: it is for memory checkers.",
            Confidence.CERTAIN,
        )
