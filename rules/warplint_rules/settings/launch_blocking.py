from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.settings._environment import SETTERS, value_set
from warplint_rules.settings._left_on import is_asked_for

VARIABLE = "CUDA_LAUNCH_BLOCKING"


class LaunchBlockingLeftOn(Rule):
    """The program makes every kernel launch wait for the kernel.

    ## Why is this slow?

    With `CUDA_LAUNCH_BLOCKING=1` the host waits for each kernel before it queues the next one. Nothing
    overlaps any more: the GPU idles whenever Python works, which in programs with many small kernels is most
    of the time. The variable is there to find out which kernel failed. Measured on an H200 with torch 2.11: a
    training step of 20 linear layers took about 6.1 ms with it and 4.6 ms without.

    ## When it stays silent

    - behind a condition (`if args.debug:`), for a value that is a variable, and for `"0"`;
    - in functions and files that are named for debugging, tests or reproducible runs. Deterministic
      algorithms alone need no blocking launches since CUDA 10.2.

    ## Fix safety

    There is no automatic fix: take the line out, and set the variable in the shell when a kernel fails.

    ## Sources

    - CUDA C++ Programming Guide, "Asynchronous Concurrent Execution": "should not be used as a way to make
      production software run reliably"
    - PyTorch documentation, "CUDA semantics", "Asynchronous execution", and "Reproducibility"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL532"
    name = "launch-blocking-left-on"
    wants = wants(calls=SETTERS, settings=[f"os.environ.{VARIABLE}"])
    proof = Signature(At.RUN, Metric.HOST_TIME)
    risk = Risk.HIGH
    preview = True

    fires = (
        Example(
            "At the top of a script.",
            """\
import os

«os.environ["CUDA_LAUNCH_BLOCKING"]» = "1"

import torch
""",
        ),
        Example(
            "Only where nobody set it, and where a flag is not set.",
            """\
import os
import torch


def main(args):
    if not args.many_gpus and torch.cuda.is_available():
        «os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")»
""",
        ),
    )

    quiet = (
        Example(
            "On request, off, or read.",
            """\
import os
import torch


def main(args):
    if args.debug:
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    os.environ["CUDA_LAUNCH_BLOCKING"] = args.blocking
    os.environ["CUDA_LAUNCH_BLOCKING"] = "0"
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "1")
    return os.environ["CUDA_LAUNCH_BLOCKING"]
""",
        ),
        Example(
            "For the same numbers in each run.",
            """\
import os
import torch


def enable_full_determinism(seed):
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    torch.use_deterministic_algorithms(True)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if value_set(node, VARIABLE, facts) not in {"1", "2", "True", "true"}:
            return None
        if is_asked_for(node, facts):
            return None
        return Verdict(
            node,
            "Every kernel launch waits for its kernel, in every run, so that host and GPU never work at the "
            "same time. Set it in the shell when you look for a failing kernel.",
            Confidence.CERTAIN,
        )
