from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.parsing.tree import FunctionNode, dotted
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.settings._left_on import is_asked_for

SETTING = "torch.backends.cudnn.enabled"


class CudnnDisabled(Rule):
    """cuDNN is switched off for the whole program.

    ## Why is this slow?

    Convolutions, batch norm and recurrent layers then run on PyTorch's own fallback kernels. Those do not
    use Tensor Cores, and recurrent layers become one kernel a gate and time step. Measured on an H200 with
    torch 2.11: a training step of 8 convolution blocks took 43.3 ms without cuDNN and 7.8 ms with it.

    ## When it stays silent

    - where the same function sets it again: it then is a way round a fault in one operation;
    - behind a condition, for a value that is a variable, and in functions and files that are named for
      tests, debugging or reproducible runs.

    ## Fix safety

    There is no automatic fix: somebody may have switched cuDNN off because one of its kernels failed. Take
    the line out, or hold it for that operation only: `with torch.backends.cudnn.flags(enabled=False):`.

    ## Sources

    - torch.backends.cudnn
    - PyTorch performance tuning guide, "Enable cuDNN auto-tuner"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL533"
    name = "cudnn-disabled"
    wants = wants(settings=[SETTING])
    proof = Signature(At.RUN, Metric.KERNEL_TIME)
    risk = Risk.HIGH

    fires = (
        Example(
            "In a training script.",
            """\
import torch

«torch.backends.cudnn.enabled» = False


def train(model, loader):
    for images in loader:
        model(images.cuda()).mean().backward()
""",
        ),
        Example(
            "By another name of the module.",
            """\
from torch.backends import cudnn


def main(model, loader):
    «cudnn.enabled» = False
    for images in loader:
        model(images.cuda()).mean().backward()
""",
        ),
    )

    quiet = (
        Example(
            "For one operation that fails otherwise.",
            """\
import torch


class Points(torch.nn.Module):
    def forward(self, x):
        torch.backends.cudnn.enabled = False
        x = self.norm(x)
        torch.backends.cudnn.enabled = True
        return x
""",
        ),
        Example(
            "On request, or on.",
            """\
import torch


def main(args):
    torch.backends.cudnn.enabled = True
    torch.backends.cudnn.enabled = args.cudnn
    if args.no_cudnn:
        torch.backends.cudnn.enabled = False


def set_seed(seed):
    torch.manual_seed(seed)
    torch.backends.cudnn.enabled = False
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        statement = facts.statement(node)
        is_off = isinstance(statement, ast.Assign) and _is_false(statement.value)
        if not is_off or is_asked_for(node, facts) or _is_set_again(node, facts):
            return None
        return Verdict(
            node,
            "Without cuDNN, convolutions, batch norm and recurrent layers run on slow fallback kernels. "
            "Switch it off for a failing operation only: `with torch.backends.cudnn.flags(enabled=False):`.",
            Confidence.CERTAIN,
        )


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (False, 0)


def _is_set_again(node: ast.expr, facts: Facts) -> bool:
    """Whether the same function sets it to something else as well."""
    around = facts.function(node)
    if around is None or not isinstance(around.node, FunctionNode):
        return False
    return any(
        dotted(target) == dotted(node) and not _is_false(statement.value)
        for statement in ast.walk(around.node)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    )
