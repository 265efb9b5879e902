from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.parsing.tree import FunctionNode, last_name
from warplint.static.rules.rule import (
    At,
    Example,
    Metric,
    Rewrite,
    Risk,
    Rule,
    Signature,
    TorchVersion,
    Verdict,
    wants,
)
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules._optimizers import FUSED

if TYPE_CHECKING:
    import libcst as cst

OPTIMIZERS = {
    f"torch.optim.{name}"
    for name in (
        "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD",
    )
}  # fmt: skip
"""Those with a ``foreach`` form, which is the default on GPUs."""
WITHOUT_FOREACH = r"(?i)directml|privateuseone|torch_xla|xla_model"
"""What a program mentions that runs on an accelerator for which the loop is the only form."""
DEVICES = frozenset({"cpu", "hpu", "mps", "npu", "xla", "xpu"})
CLIPPING = {f"torch.nn.utils.{name}" for name in ("clip_grad_norm_", "clip_grad_value_", "get_total_norm")}


class OptimizerByLoop(Rule):
    """`foreach=False` makes each step go over the parameters one by one.

    ## Why is this slow?

    A step of Adam is about ten kernels. With `foreach=False` each is launched for each parameter: thousands
    of launches a step, in which the GPU has next to nothing to do. The default on a GPU does all parameters
    in some dozen kernels, and `fused=True` in one. Measured on an H200 with torch 2.11: a step of AdamW over
    200 small tensors took about 22 ms one by one and 3.6 ms by default; a whole training step of six encoder
    layers 19.5 and 14.9 ms.

    ## When it stays silent

    - when `foreach` is a variable, or `fused=True` is given beside it;
    - behind a test for a kind of device, and for optimizers of other libraries;
    - in a file that speaks of DirectML or XLA, which lack the other forms.

    ## Fix safety

    Unsafe: `foreach` and fused forms take some more memory during the step (about as much as the parameters,
    and none, respectively), and results differ in the last bits. If memory was why it was switched off, use
    the fused form.

    ## Sources

    - torch.optim, "Algorithms": for-loop, foreach and fused
    - Lightning-AI/litgpt#857: a pretraining script that had it off
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL501"
    name = "optimizer-by-loop"
    wants = wants(calls=OPTIMIZERS | CLIPPING)
    proof = Signature(At.STEP, Metric.KERNELS)
    risk = Risk.MEDIUM
    since = TorchVersion(2, 0)

    fires = (
        Example(
            "An optimizer with a fused form, one without, and clipping.",
            """\
import torch


def setup(model):
    fast = «torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)»
    other = «torch.optim.NAdam(model.parameters(), foreach=False)»
    return fast, other


def clip(model):
    «torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)»
""",
            """\
import torch


def setup(model):
    fast = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=None, fused=True)
    other = torch.optim.NAdam(model.parameters(), foreach=None)
    return fast, other


def clip(model):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=None)
""",
        ),
    )

    quiet = (
        Example(
            "The default, the fused form, and what a variable says.",
            """\
import torch


def setup(model, foreach):
    first = torch.optim.AdamW(model.parameters())
    second = torch.optim.AdamW(model.parameters(), foreach=False, fused=True)
    third = torch.optim.AdamW(model.parameters(), foreach=foreach)
    return first, second, third
""",
        ),
        Example(
            "A step that is differentiated, and a device that lacks the other forms.",
            """\
import torch


def clip(model, device):
    if device.type == "npu":
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)


def setup(model):
    return torch.optim.Adam(model.parameters(), foreach=False, differentiable=True)
""",
        ),
        Example(
            "A program for an accelerator that has the loop only.",
            """\
import torch
import torch_directml


def setup(model):
    model.to(torch_directml.device())
    return torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        foreach, fused = keyword(node, "foreach"), keyword(node, "fused")
        if not _is_false(foreach) or has_unpacking(node) or keyword(node, "differentiable") is not None:
            return None
        if fused is not None and not _is_false(fused):
            return None
        if _is_for_one_device(node, facts) or facts.mentions(WITHOUT_FOREACH):
            return None
        remedy = "use `fused=True`" if last_name(node.func) in FUSED else "leave it out"
        return Verdict(
            node,
            f"`foreach=False` launches kernels for each parameter, thousands a step: {remedy}.",
            Confidence.CERTAIN,
            Applicability.UNSAFE,
            "Update all parameters at once",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        if not isinstance(node, cst.Call) or not isinstance(site, ast.Call):
            return None
        node = with_keyword(node, "foreach", cst.Name("None"))
        if last_name(site.func) in FUSED:
            node = with_keyword(node, "fused", cst.Name("True"))
        return Rewrite(node)


def _is_for_one_device(node: ast.expr, facts: Facts) -> bool:
    """Whether a call stands behind a test for a kind of device, which may lack the other forms."""
    current = facts.parent(node)
    while current is not None and not isinstance(current, FunctionNode):
        if isinstance(current, ast.If | ast.IfExp):
            words = {part.value for part in ast.walk(current.test) if isinstance(part, ast.Constant)}
            if words & DEVICES:
                return True
        current = facts.parent(current)
    return False


def _is_false(argument: ast.expr | None) -> bool:
    return isinstance(argument, ast.Constant) and argument.value is False
