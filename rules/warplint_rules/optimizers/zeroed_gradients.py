from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Hotness
from warplint.static.parsing.tree import FunctionNode
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
from warplint_rules._calls import has_unpacking, keyword

if TYPE_CHECKING:
    import libcst as cst

READS = frozenset({"grad", "main_grad"})
CAPTURES = ("CUDAGraph", "graph", "make_graphed_callables")


class ZeroedGradients(Rule):
    """`zero_grad(set_to_none=False)` fills the gradients with zeros in each step instead of dropping them.

    ## Why is this slow?

    Each step then writes zeros over all gradients, and the backward pass reads them to add to them. By
    default (since torch 2.0) they are dropped: the backward pass writes its results, and between the steps
    the memory serves others. Measured on an H200 with torch 2.11: for 200 small parameters zeroing took
    about 2 ms and dropping 0.14 ms.

    ## When it stays silent

    - where the function, or the class around it, reads `.grad` itself: it may rely on a tensor being there;
    - where gradients must keep their place: captured graphs;
    - outside code that runs each step.

    ## Fix safety

    Unsafe: a gradient that no backward pass reached is then None and not zero, so the optimizer leaves that
    parameter alone instead of decaying it or moving it on by its momentum.

    ## Sources

    - PyTorch performance tuning guide, on gradients that are zeroed
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL505"
    name = "zeroed-gradients"
    wants = wants(methods={"zero_grad"})
    proof = Signature(At.LINE, Metric.KERNELS)
    risk = Risk.LOW
    since = TorchVersion(2, 0)
    preview = True

    fires = (
        Example(
            "Before each step.",
            """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        «optimizer.zero_grad(set_to_none=False)»
        model(batch.cuda()).mean().backward()
        optimizer.step()
""",
            """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        optimizer.zero_grad()
        model(batch.cuda()).mean().backward()
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "By default, by a variable, and by None.",
            """\
import torch


def train(model, loader, optimizer, drop):
    for batch in loader:
        optimizer.zero_grad()
        model.zero_grad(set_to_none=True)
        optimizer.zero_grad(set_to_none=drop)
        model(batch.cuda()).mean().backward()
        optimizer.step()
""",
        ),
        Example(
            "A server that adds to what is there.",
            """\
import torch


class Server:
    def update(self, grads):
        for param, grad in zip(self.model.parameters(), grads):
            param.grad += grad
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)
""",
        ),
        Example(
            "A captured step writes to the same gradients again.",
            """\
import torch


def train(model, loader, optimizer, batch):
    captured = torch.cuda.CUDAGraph()
    for batch in loader:
        optimizer.zero_grad(set_to_none=False)
        model(batch).mean().backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        given = keyword(node, "set_to_none")
        if not isinstance(given, ast.Constant) or given.value is not False or has_unpacking(node):
            return None
        if facts.hotness(node) is not Hotness.STEP or facts.calls_any(CAPTURES):
            return None
        if _reads_gradients(node, facts):
            return None
        return Verdict(
            node,
            "All gradients are filled with zeros in each step. Leave `set_to_none=False` out: dropping them "
            "costs nothing, and the backward pass need not add to them.",
            Confidence.CERTAIN,
            Applicability.UNSAFE,
            "Drop the gradients",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        if not isinstance(node, cst.Call):
            return None
        kept = [part for part in node.args if part.keyword is None or part.keyword.value != "set_to_none"]
        if kept:
            return None
        return Rewrite(node.with_changes(args=kept, whitespace_before_args=cst.SimpleWhitespace("")))


def _reads_gradients(node: ast.expr, facts: Facts) -> bool:
    """Whether the class or function around a call touches gradients itself."""
    around: ast.AST = node
    current: ast.AST | None = node
    while current is not None:
        if isinstance(current, FunctionNode | ast.ClassDef):
            around = current
        current = facts.parent(current)
    return any(isinstance(part, ast.Attribute) and part.attr in READS for part in ast.walk(around))
