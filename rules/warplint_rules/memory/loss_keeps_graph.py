from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.parsing.tree import FunctionNode, LoopNode, below, dotted, last_name, walk_scope
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.frequency import BACKWARD, OPTIMIZER
from warplint_rules._gradients import runs_without_gradients
from warplint_rules._loops import loops_around
from warplint_rules._text import short

if TYPE_CHECKING:
    import libcst as cst

LOSSES = Pattern(
    r"(\w*_)?(cost|elbo|err|errors?|ll|loss|losses|nll|objective)(_?\w+)?|\w*loss\w*|err\w+", re.I
)
"""Names of what is differentiated."""
DETACHING = frozenset({"data", "detach", "detach_", "item", "numpy", "tolist"})
"""What leaves the graph behind."""
KEEPING = frozenset({"clone", "cpu", "float", "mean", "mul", "sum", "to"})
"""Methods whose results still hold the graph."""
GUARDS = frozenset({"inference_mode", "no_grad", "set_grad_enabled"})


class LossKeepsGraph(Rule):
    """Losses are summed up, collected or put among the metrics with the graphs that they were made by.

    ## Why is this slow?

    A loss refers to its graph. `backward()` frees the activations, but the nodes of the graph stay as long as
    the sum refers to them, and the sum grows a node longer in each step: host memory, and the small tensors
    that the nodes hold, grow over the epoch. Where `backward(retain_graph=True)` is called, or no backward
    runs on some of it, activations stay as well, until memory is out. Reported elsewhere: a system that hung
    for want of memory.

    ## When it stays silent

    - when the loop does not run backward on that very loss, and step an optimizer;
    - for what a step puts among its metrics, unless it is copied to the CPU, which shows that it is for show,
      and is part of the loss that the function returns;
    - for detached values and numbers: `.detach()`, `.item()`, `float(loss)`;
    - where the sum is differentiated itself, and where the loop sets it anew;
    - under `torch.no_grad()`.

    ## Fix safety

    Unsafe: the sum can then no longer be differentiated. Its value is the same. The fix writes `.detach()`
    and not `.item()`, since that would wait for the GPU in each step.

    ## Sources

    - PyTorch FAQ, "My model reports cuda runtime error(2): out of memory"
    - boschresearch/Continuous-Recurrent-Units#4: it filled the memory
    """

    code = "WL614"
    name = "loss-keeps-graph"
    wants = wants(methods={"append", "cpu"}, added=True)
    proof = Signature(At.STEP, Metric.MEMORY)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A running sum, one weighted by the size of the batch, and a list.",
            """\
import torch


def train(model, loader, optimizer, criterion):
    total, weighted, losses = 0.0, 0.0, []
    for images, labels in loader:
        loss = criterion(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += «loss»
        weighted = weighted + «loss * len(images)»
        losses.append(«loss»)
    return total, weighted, torch.stack(losses)
""",
            """\
import torch


def train(model, loader, optimizer, criterion):
    total, weighted, losses = 0.0, 0.0, []
    for images, labels in loader:
        loss = criterion(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        weighted = weighted + (loss * len(images)).detach()
        losses.append(loss.detach())
    return total, weighted, torch.stack(losses)
""",
        ),
        Example(
            "A part of the loss among the metrics of a step: the copy on the CPU still holds the graph.",
            """\
import torch


class Trainer:
    def losses(self, model, batch):
        metrics = {}
        scores, nll_loss = model(batch.cuda())
        loss = scores.mean() + nll_loss
        metrics["scores"] = scores.detach().mean().cpu()
        metrics["nll_loss"] = «nll_loss.cpu().mean()»
        return loss, metrics
""",
            """\
import torch


class Trainer:
    def losses(self, model, batch):
        metrics = {}
        scores, nll_loss = model(batch.cuda())
        loss = scores.mean() + nll_loss
        metrics["scores"] = scores.detach().mean().cpu()
        metrics["nll_loss"] = nll_loss.cpu().mean().detach()
        return loss, metrics
""",
        ),
    )

    quiet = (
        Example(
            "Metrics that are detached, no part of the loss, or of a step without gradients.",
            """\
import torch


def losses(model, batch):
    metrics = {}
    scores, nll_loss, aux_loss = model(batch.cuda())
    margin_loss = scores.detach()
    loss = scores.mean() + nll_loss
    metrics["nll"] = nll_loss.detach().cpu()
    metrics["aux"] = aux_loss.cpu()
    metrics["margin"] = margin_loss.cpu()
    return loss, metrics


@torch.no_grad()
def evaluate(model, batch):
    metrics = {}
    scores, nll_loss = model(batch.cuda())
    loss = scores.mean() + nll_loss
    metrics["nll"] = nll_loss.cpu()
    return loss, metrics
""",
        ),
        Example(
            "Detached, read, and under `no_grad`.",
            """\
import torch


def train(model, loader, optimizer, criterion):
    total, running, summed, losses = 0.0, 0.0, 0.0, []
    for images, labels in loader:
        loss = criterion(model(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        total += loss.detach()
        running += float(loss) * len(images)
        losses.append(loss.item())
        with torch.no_grad():
            summed += loss * len(images)
""",
        ),
        Example(
            "The sum is what is differentiated.",
            """\
import torch


def train(model, loader, optimizer, criterion):
    for batch in loader:
        loss = 0.0
        for part in batch:
            part_loss = criterion(model(part.cuda()))
            loss += part_loss
        loss.backward()
        optimizer.step()


def unroll(model, steps, optimizer):
    losses = []
    for _ in range(steps):
        loss = model().mean()
        loss.backward(retain_graph=True)
        losses.append(loss)
        optimizer.step()
    torch.stack(losses).sum().backward()
""",
        ),
        Example(
            "Set anew every few steps, and kept for the parts of one step only.",
            """\
import torch


def train(model, loader, optimizer, criterion):
    running = 0.0
    for step, images in enumerate(loader):
        loss = criterion(model(images.cuda()))
        loss.backward()
        running += loss
        if step % 4 == 3:
            optimizer.step()
            print(running)
            running = 0.0


def step(model, parts, optimizer, criterion):
    total = 0.0
    for part in parts:
        loss = criterion(model(part.cuda()))
        loss.backward()
        total += loss
    optimizer.step()
    return total
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if isinstance(node, ast.Call) and last_name(node.func) == "cpu":
            return _check_metric(node, facts)
        is_append = isinstance(node, ast.Call) and _is_append(node)
        kept = node.args[0] if isinstance(node, ast.Call) and is_append else node
        losses = {name for name in _names(kept) if LOSSES.fullmatch(name)}
        if not losses or _leaves_graph(kept):
            return None
        holder = _holder(node, is_append, facts)
        loop = next((loop for loop in loops_around(node, facts) if isinstance(loop, LoopNode)), None)
        if holder is None or loop is None or not _steps(loop):
            return None
        differentiated = set(_differentiated(loop))
        if not losses & differentiated or losses & set(_detached(loop)):
            return None
        around = _around(loop, facts)
        if _is_set_in(loop, holder) or _is_differentiated(holder, around) or _is_guarded(node, facts):
            return None
        return Verdict(
            kept,
            f"`{holder}` keeps the graph of each loss, so memory grows with every step. Add `.detach()`.",
            Confidence.LIKELY,
            Applicability.UNSAFE,
            "Detach the loss",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        if not isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript) and not node.lpar:
            node = node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return Rewrite(cst.Call(cst.Attribute(node, cst.Name("detach"))))


def _check_metric(copied: ast.Call, facts: Facts) -> Verdict | None:
    """A part of the loss of a step that is copied to the CPU with its graph, and put under a key."""
    statement = facts.statement(copied)
    function = facts.function(copied)
    if not isinstance(statement, ast.Assign) or function is None or isinstance(function.node, ast.Lambda):
        return None
    target, kept = statement.targets[0], statement.value
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant | ast.JoinedStr):
        return None
    parts = set(_names(kept))
    if (
        _leaves_graph(kept)
        or runs_without_gradients(copied, facts)
        or not parts & _returned_parts(function.node)
    ):
        return None
    if parts & set(_detached(function.node)):
        return None
    return Verdict(
        kept,
        f"`{short(kept)}` keeps the graph of this part of the loss, though copied to the CPU, for as long as "
        "the metrics are kept. Add `.detach()`.",
        Confidence.LIKELY,
        Applicability.UNSAFE,
        "Detach the loss",
    )


def _returned_parts(function: FunctionNode) -> set[str]:
    """The losses that are terms of the loss that a function returns first."""
    returned = {
        value.id
        for node in walk_scope(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name | ast.Tuple)
        for value in (node.value.elts[:1] if isinstance(node.value, ast.Tuple) else [node.value])
        if isinstance(value, ast.Name) and LOSSES.fullmatch(value.id)
    }
    sums = (
        node.value
        for node in walk_scope(function)
        if isinstance(node, ast.Assign | ast.AugAssign)
        and isinstance(node.value, ast.BinOp | ast.Name)
        and returned & set(_names(node.targets[0] if isinstance(node, ast.Assign) else node.target))
    )
    return {name for total in sums for name in _names(total) if LOSSES.fullmatch(name)} - returned


def _is_append(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1


def _names(node: ast.AST) -> Iterator[str]:
    for part in below(node):
        if isinstance(part, ast.Name):
            yield part.id


def _leaves_graph(node: ast.expr) -> bool:
    """Whether an expression gives no graph, or may not: what unknown functions return is unknown."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in DETACHING:
            return True
        if isinstance(part, ast.Call) and not _keeps_graph(part.func):
            return True
        if not isinstance(part, _PLAIN):
            return True
    return False


def _keeps_graph(called: ast.expr) -> bool:
    """Whether a call's result hangs on the graph of its operand; the length of something is a number."""
    if isinstance(called, ast.Name):
        return called.id == "len"
    return isinstance(called, ast.Attribute) and called.attr in KEEPING


_PLAIN = (
    ast.Attribute, ast.BinOp, ast.Call, ast.Constant, ast.Name, ast.Subscript, ast.expr_context, ast.operator,
)  # fmt: skip
"""Of what expressions consist whose value hangs on the graph of their loss."""


def _holder(node: ast.expr, is_append: bool, facts: Facts) -> str | None:
    """The dotted name of what a loss is added or appended to."""
    if is_append:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        return dotted(node.func.value)
    statement = facts.statement(node)
    if isinstance(statement, ast.AugAssign):
        return dotted(statement.target)
    return dotted(statement.targets[0]) if isinstance(statement, ast.Assign) else None


def _steps(loop: LoopNode) -> bool:
    """Whether a loop steps an optimizer."""
    called = (part.func for part in below(loop) if isinstance(part, ast.Call))
    return any(
        isinstance(function, ast.Attribute)
        and function.attr == "step"
        and OPTIMIZER.fullmatch(last_name(function.value)) is not None
        for function in called
    )


def _differentiated(around: ast.AST) -> Iterator[str]:
    """The names that backward is run on: ``loss.backward()``, ``scaler.scale(loss).backward()``."""
    for part in below(around):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in BACKWARD:
            for held in (part.func.value, *part.args):
                yield from _names(held)


def _detached(loop: LoopNode | FunctionNode) -> Iterator[str]:
    """The names that a loop or function sets to something without a graph."""
    for part in below(loop):
        if isinstance(part, ast.Assign):
            texts = {inner.attr for inner in below(part.value) if isinstance(inner, ast.Attribute)}
            is_number = isinstance(part.value, ast.Call) and last_name(part.value.func) in {"float", "int"}
            if texts & DETACHING or is_number:
                yield from (name for target in part.targets for name in _names(target))


def _around(loop: LoopNode, facts: Facts) -> ast.AST:
    """The function around a loop, or the outermost statement where there is none."""
    current: ast.AST = loop
    while True:
        parent = facts.parent(current)
        if parent is None:
            return current
        current = parent
        if isinstance(current, FunctionNode):
            return current


def _is_set_in(loop: LoopNode, holder: str) -> bool:
    """Whether a loop sets what it adds to anew, or takes it as its own variable."""
    for part in below(loop):
        if isinstance(part, ast.Assign) and any(_sets(target, holder) for target in part.targets):
            adds = isinstance(part.value, ast.BinOp) and dotted(part.value.left) == holder
            if not adds:
                return True
    return isinstance(loop, ast.For | ast.AsyncFor) and _sets(loop.target, holder)


def _sets(target: ast.expr, holder: str) -> bool:
    return any(dotted(part) == holder for part in below(target) if isinstance(part, ast.Name | ast.Attribute))


def _is_differentiated(holder: str, around: ast.AST) -> bool:
    """Whether backward is run on what holds the losses, or on what is made of it."""
    name = holder.partition(".")[0] if not holder.startswith("self.") else holder
    targets = set(_differentiated(around))
    if name in targets:
        return True
    for part in below(around):
        if isinstance(part, ast.Assign) and name in {dotted(inner) for inner in _chains(part.value)}:
            made = {made for target in part.targets for made in _names(target)}
            if made & targets:
                return True
    return False


def _chains(node: ast.AST) -> Iterator[ast.expr]:
    for part in below(node):
        if isinstance(part, ast.Name | ast.Attribute):
            yield part


def _is_guarded(node: ast.AST, facts: Facts) -> bool:
    current = facts.parent(node)
    while current is not None and not isinstance(current, FunctionNode):
        if isinstance(current, ast.With) and any(
            last_name(item.context_expr) in GUARDS for item in current.items
        ):
            return True
        current = facts.parent(current)
    return False
