from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.parsing.tree import last_name, walk_scope
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.optimizers._each_step import runs_each_step

HEADERS = {"named_parameters", "parameters"}
EACH_STEP = Pattern(r"_*(\w*_)?(clip|grads?|gradients?|norm|normali[sz]e|scale|step|update|zero)(_\w+)?")
"""Functions that work on gradients each step, by name: their callers are in another file."""
REMEDIES = {
    "clamp_": "`torch.nn.utils.clip_grad_value_` does all at once",
    "div_": "divide the loss instead, or scale all gradients at once with `torch._foreach_div_`",
    "mul_": "scale the loss instead, or all gradients at once with `torch._foreach_mul_`",
    "norm": "`torch.nn.utils.clip_grad_norm_` and `get_total_norm` do all at once, without reading any",
    "step": "`torch.optim.SGD` does all at once",
    "zero_": "`zero_grad()` drops them all",
}
"""What is done to each gradient, and what does it to all of them."""
IN_PLACE = {ast.Mult: "mul_", ast.Div: "div_"}
STEPS = frozenset({"add_", "sub_"})
REPORTS = Pattern(r"\w*(add_scalars?|append|histogram|log\w*|print|write)")
"""Calls by which a loop reports each parameter by itself."""


class GradientsByLoop(Rule):
    """Each step, gradients are scaled, clipped, measured, zeroed or applied one parameter at a time.

    ## Why is this slow?

    Each parameter costs some launches of tiny kernels from Python, some hundred or thousand a step, and the
    GPU idles meanwhile. Where the norm of each gradient is read with `.item()`, the host waits for the GPU
    once a parameter as well. PyTorch's own functions do all parameters in a few kernels. Measured on an H200
    with torch 2.11, for 200 small gradients: the norm by hand took about 5.4 ms and `clip_grad_norm_` 1.4 ms,
    zeroing by hand 1.5 ms and `zero_grad()` 0.2 ms.

    ## When it stays silent

    - in optimizers, and for gradients of single tensors;
    - where each parameter is logged by itself;
    - where the function has a way with `torch._foreach_…` too;
    - when neither a step loop nor the function's name says that it runs each step.

    ## Fix safety

    There is no automatic fix: which function replaces the loop depends on what follows. Results differ in the
    last bits at most.

    ## Sources

    - torch.nn.utils, `clip_grad_norm_`, `clip_grad_value_` and `get_total_norm`
    - PyTorch performance tuning guide, on gradients that are zeroed
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL504"
    name = "gradients-by-loop"
    wants = wants(methods=HEADERS)
    proof = Signature(At.LINE, Metric.KERNELS)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "Clipped, scaled, and applied by hand.",
            """\
import torch


def train(model, loader, rate):
    for batch in loader:
        model(batch.cuda()).mean().backward()
        for param in «model.parameters()»:
            param.grad.data.clamp_(-1, 1)
        for param in «model.parameters()»:
            param.grad /= 4
        for name, param in «model.named_parameters()»:
            if param.grad is not None:
                param.data.add_(param.grad, alpha=-rate)
        for param in «model.parameters()»:
            param.grad.zero_()
""",
        ),
        Example(
            "A norm over all gradients.",
            """\
import torch


def clip_gradient(model, limit):
    total = 0.0
    for param in «model.parameters()»:
        if param.grad is not None:
            total += param.grad.data.norm(2).item() ** 2
    scale = limit / max(total**0.5, limit)
    for param in «model.parameters()»:
        param.grad.mul_(scale)
""",
        ),
    )

    quiet = (
        Example(
            "All at once.",
            """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        (model(batch.cuda()).mean() / 4).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
""",
        ),
        Example(
            "Logged one by one, and now and then.",
            """\
import torch


def train(model, loader, optimizer, writer):
    for step, batch in enumerate(loader):
        model(batch.cuda()).mean().backward()
        for name, param in model.named_parameters():
            writer.add_scalar(name, param.grad.norm(), step)
        if step % 100 == 0:
            for param in model.parameters():
                param.grad.clamp_(-1, 1)
        optimizer.step()
""",
        ),
        Example(
            "The step of an optimizer, and a function with a faster way.",
            """\
import torch


class Descent(torch.optim.Optimizer):
    def step(self):
        for param in self.model.parameters():
            param.data.add_(param.grad, alpha=-0.1)


def scale_grads(model, factor):
    grads = [param.grad for param in model.parameters()]
    if grads[0].is_cuda:
        torch._foreach_mul_(grads, factor)
    else:
        for param in model.parameters():
            param.grad.mul_(factor)
""",
        ),
        Example(
            "Weights that are set up, norms of weights, and a single layer.",
            """\
import torch


def init_weights(model):
    for param in model.parameters():
        param.data.mul_(0.1)


def count(model):
    return sum(param.norm() for param in model.parameters())


def regress(loader):
    layer = torch.nn.Linear(4, 1)
    for batch in loader:
        layer(batch).mean().backward()
        for param in layer.parameters():
            param.data.add_(-0.1 * param.grad)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        loop = facts.statement(node)
        if not isinstance(loop, ast.For) or not any(part is node for part in ast.walk(loop.iter)):
            return None
        names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
        done = next(_done(loop, names), None)
        function = facts.function(node)
        if done is None or not runs_each_step(node, EACH_STEP, facts) or _is_of_a_layer(node, facts):
            return None
        if function is not None:
            attributes = (part.attr for part in ast.walk(function.node) if isinstance(part, ast.Attribute))
            if function.class_role == "optimizer" or any(name.startswith("_foreach_") for name in attributes):
                return None
        return Verdict(
            loop.iter,
            "Each step launches some small kernels for each parameter's gradient from Python: "
            f"{REMEDIES[done]}.",
            Confidence.LIKELY,
        )


def _is_of_a_layer(node: ast.expr, facts: Facts) -> bool:
    """Whether the parameters are those of a single layer: two tensors."""
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return facts.value(node.func.value).qualified == "torch.nn.Linear"


def _done(loop: ast.For, names: set[str]) -> Iterator[str]:
    """What a loop does to each gradient, as a key of REMEDIES."""
    nodes = [node for statement in loop.body for node in [statement, *walk_scope(statement)]]
    if any(isinstance(node, ast.Call) and REPORTS.fullmatch(last_name(node.func)) for node in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.AugAssign):
            yield from _by_assignment(node, names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _by_call(node, node.func, names)


def _by_assignment(node: ast.AugAssign, names: set[str]) -> Iterator[str]:
    if _is_gradient(node.target, names):
        if type(node.op) in IN_PLACE:
            yield IN_PLACE[type(node.op)]
    elif isinstance(node.op, ast.Sub) and _is_of(node.target, names) and _reads_gradient(node.value, names):
        yield "step"


def _by_call(call: ast.Call, function: ast.Attribute, names: set[str]) -> Iterator[str]:
    name = function.attr
    if name in STEPS:
        if _is_of(function.value, names) and any(_reads_gradient(part, names) for part in call.args):
            yield "step"
    elif name == "norm" and call.args and _is_gradient(call.args[0], names):
        yield "norm"
    elif name in REMEDIES and _is_gradient(function.value, names):
        yield name


def _is_gradient(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is the gradient of one of these names, perhaps without its graph or converted."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        else:
            break
    return isinstance(node, ast.Attribute) and node.attr == "grad" and _is_of(node.value, names)


def _is_of(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return isinstance(node, ast.Name) and node.id in names


def _reads_gradient(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(part, ast.Attribute) and _is_gradient(part, names) for part in ast.walk(node))
