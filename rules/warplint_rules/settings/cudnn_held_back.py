from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.parsing.tree import dotted, last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.settings._left_on import is_asked_for

BENCHMARK = "torch.backends.cudnn.benchmark"
DETERMINISTIC = "torch.backends.cudnn.deterministic"

SEEDS = {
    "enable_full_determinism", "fix_seed", "fixseed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "seed_everything", "set_random_seed", "set_seed", "setup_seed", "use_deterministic_algorithms",
}  # fmt: skip
"""What is called for the same numbers in each run."""


class CudnnHeldBack(Rule):
    """cuDNN may not choose its fastest kernels, and nothing says that the same numbers are wanted.

    ## Why is this slow?

    With `cudnn.benchmark = True` cuDNN tries its algorithms for each shape of a convolution once and takes
    the fastest; `False` leaves the choice to a guess. `cudnn.deterministic = True` rules fast algorithms
    out, whatever benchmark finds. Such lines are often copied from scripts that fix all seeds; alone they
    make nothing reproducible.

    A hint, because it depends on the shapes: where they change from step to step, trying costs more than it
    gains. Measured on an H200 with torch 2.11, neither switch changed the training step of 8 convolution
    blocks.

    ## When it stays silent

    - where seeds are set in the same function, or anywhere in a file that sets the switch at its top, and in
      functions and files that are named for seeds, tests or reproducible runs;
    - behind a condition, and for a value that is a variable;
    - where a function sets the switch back.

    ## Fix safety

    There is no automatic fix: take the line out, and set `torch.backends.cudnn.benchmark = True` where the
    shapes stay the same. Results change in their last bits.

    ## Sources

    - PyTorch performance tuning guide, "Enable cuDNN auto-tuner"
    - PyTorch documentation, "Reproducibility", "CUDA convolution benchmarking"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL534"
    name = "cudnn-held-back"
    wants = wants(settings=[BENCHMARK, DETERMINISTIC])
    proof = Signature(At.RUN, Metric.KERNEL_TIME)
    risk = Risk.LOW
    preview = True
    severity = Severity.HINT

    fires = (
        Example(
            "Both off: reproducible results are not what is wanted.",
            """\
import torch


def main():
    torch.manual_seed(1)
    torch.backends.cudnn.deterministic = False
    «torch.backends.cudnn.benchmark» = False
""",
        ),
        Example(
            "Deterministic kernels, but no seed.",
            """\
import torch.backends.cudnn as cudnn


def main(args):
    cudnn.benchmark = True
    «cudnn.deterministic» = True
""",
        ),
    )

    quiet = (
        Example(
            "With seeds, for the same numbers in each run.",
            """\
import random

import torch


def set_seed(seed):
    torch.backends.cudnn.deterministic = True


def main(args):
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
""",
        ),
        Example(
            "On request, on, and off for a while.",
            """\
import torch


def main(args):
    torch.backends.cudnn.benchmark = True
    if args.deterministic:
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True


def evaluate(model, images):
    torch.backends.cudnn.benchmark = False
    model(images)
    torch.backends.cudnn.benchmark = True
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        statement = facts.statement(node)
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            return None
        is_benchmark = facts.qualified(node) == BENCHMARK
        if statement.value.value is is_benchmark or is_asked_for(node, facts):
            return None
        around = facts.function(node)
        settings = _settings(around.node, facts) if around is not None else {}
        if {True, False} <= settings.get(BENCHMARK if is_benchmark else DETERMINISTIC, set()):
            return None
        may_vary = settings.get(DETERMINISTIC) == {False}
        if not may_vary and _wants_the_same_numbers(node, facts):
            return None
        return Verdict(
            node,
            "cuDNN does not look for the fastest convolutions. Where shapes stay the same, try "
            "`torch.backends.cudnn.benchmark = True`."
            if is_benchmark
            else "This rules out convolutions that may be faster, and makes nothing reproducible where no "
            "seed is set. Take it out, or set all seeds.",
            Confidence.LIKELY,
        )


def _settings(function: ast.AST, facts: Facts) -> dict[str, set[object]]:
    """What a function sets the two switches to."""
    found: dict[str, set[object]] = {}
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            for target in statement.targets:
                name = facts.qualified(target) if dotted(target) is not None else None
                if name is not None:
                    found.setdefault(name, set()).add(statement.value.value)
    return found


def _wants_the_same_numbers(node: ast.expr, facts: Facts) -> bool:
    around = facts.function(node)
    if around is None:
        return facts.calls_any(SEEDS)
    return any(isinstance(part, ast.Call) and last_name(part) in SEEDS for part in ast.walk(around.node))
