from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.parsing.tree import below, last_name, walk_scope
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import keyword
from warplint_rules._loops import loops_around
from warplint_rules.optimizers._each_step import runs_each_step

HEADERS = {"parameters", "named_parameters", "state_dict"}
UPDATES = {"add_", "copy_", "lerp_", "mul_", "sub_"}
PARAMETERS = Pattern(
    r"\w*(param|shadow|state_dict|weights)\w*|msd|esd|target_net|target_model", re.IGNORECASE
)
"""What a loop over the parameters of a model iterates, by name."""
EACH_STEP = Pattern(
    r"_*(forward|__call__|step\w*|\w*(accumulate|average|ema|momentum|moving|polyak|soft|sync|update)\w*)"
)
"""Functions that update an average, by name: their callers are in another file, and call them every step."""
GRADIENTS = frozenset({"grad", "grads", "gradient", "gradients", "param_groups"})
ITSELF = frozenset({"data", "detach", "float", "to", "type_as"})


class AverageByLoop(Rule):
    """A moving average of a model's weights is updated one parameter at a time.

    ## Why is this slow?

    Target networks and averages of weights are updated each step: two or three tiny kernels a parameter, each
    launched from Python. With some hundred parameters the launches take longer than the work, and the GPU
    idles meanwhile. `torch._foreach_lerp_`, on which `torch.optim.swa_utils.get_ema_multi_avg_fn` builds,
    does all parameters in a few kernels, as the optimizers of PyTorch do by default. Measured on an H200 with
    torch 2.11: 200 small tensors took about 4.1 ms one by one and 0.12 ms at once.

    ## When it stays silent

    - for copies (`target.copy_(source)`), gradients, and the steps of optimizers;
    - where the update runs now and then, as behind `if step % n == 0`;
    - where the function has a way with `torch._foreach_…` too;
    - when neither a step loop nor the function's name says that it runs each step.

    ## Fix safety

    There is no automatic fix. `get_ema_multi_avg_fn(decay)(averages, parameters, 0)` takes two lists of
    tensors, which must lie on one device and be of one type for the fast way; leave out integers such as
    `num_batches_tracked`, and copy those.

    ## Sources

    - torch.optim, "Weight Averaging (SWA and EMA)", and torch/optim/swa_utils.py
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    - huggingface/diffusers#7685: the update of an average, done with `_foreach`
    """

    code = "WL503"
    name = "average-by-loop"
    wants = wants(methods=HEADERS | UPDATES)
    proof = Signature(At.LINE, Metric.KERNELS)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Target networks, in the training loop and in a method named for it.",
            """\
import torch


def train(actor, target, loader, optimizer, tau):
    for batch in loader:
        actor(batch).mean().backward()
        optimizer.step()
        for param, target_param in «zip(actor.parameters(), target.parameters())»:
            target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)


class Average:
    @torch.no_grad()
    def step(self, parameters):
        for shadow, param in «zip(self.shadow_params, parameters)»:
            shadow.sub_((1 - self.decay) * (shadow - param))
""",
        ),
        Example(
            "In place, in one chain, in two statements, and by augmented assignments.",
            """\
import torch


@torch.no_grad()
def update_ema(ema_model, model, decay):
    ema = dict(ema_model.named_parameters())
    for name, param in «model.named_parameters()»:
        ema[name].mul_(decay).add_(param.data, alpha=1 - decay)


@torch.no_grad()
def soft_update(averages, model, decay):
    for key, param in «model.state_dict().items()»:
        average = averages[key]
        average.mul_(decay)
        average.add_(param, alpha=1 - decay)


class ModelEMA:
    def update(self, model):
        msd = model.state_dict()
        for k, v in «self.ema.state_dict().items()»:
            if v.dtype.is_floating_point:
                v *= self.decay
                v += (1 - self.decay) * msd[k].detach()
""",
        ),
    )

    quiet = (
        Example(
            "Copies, and what happens once.",
            """\
import torch


def sync_target(model, target):
    for param, target_param in zip(model.parameters(), target.parameters()):
        target_param.data.copy_(param.data)


def load(model, state):
    for name, param in model.named_parameters():
        param.data.copy_(0.5 * state[name] + 0.5 * param.data)
""",
        ),
        Example(
            "Now and then, and in one go where that can be.",
            """\
import torch


def train(actor, target, loader, optimizer, tau):
    for step, batch in enumerate(loader):
        actor(batch).mean().backward()
        optimizer.step()
        if step % 100 == 0:
            for param, target_param in zip(actor.parameters(), target.parameters()):
                target_param.data.lerp_(param.data, tau)


def update_ema(averages, model, decay):
    parameters = list(model.parameters())
    if hasattr(torch, "_foreach_lerp_"):
        torch._foreach_lerp_(averages, parameters, 1 - decay)
    else:
        for average, param in zip(averages, parameters):
            average.lerp_(param, 1 - decay)
""",
        ),
        Example(
            "Gradients, and the step of an optimizer.",
            """\
import torch


def train(model, loader, rate):
    for batch in loader:
        model(batch).mean().backward()
        for param in model.parameters():
            param.data.add_(param.grad, alpha=-rate)
            param.grad.mul_(0.5)


class Descent(torch.optim.Optimizer):
    def step(self):
        for param, momentum in zip(self.params, self.buffers):
            momentum.mul_(0.9).add_(param, alpha=0.1)
""",
        ),
        Example(
            "Tensors that are no parameters.",
            """\
import torch


class Queue(torch.nn.Module):
    def forward(self, keys):
        for row, key in zip(self.rows, keys):
            row.lerp_(key, 0.1)
        return self.rows
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        loop = _loop_headed_by(node, facts) if node.func.attr in HEADERS else _loop_around(node, facts)
        if loop is None or not _goes_over_parameters(loop):
            return None
        update = next(_updates(loop), None)
        if update is None or not (update is node or _stands_for(node, loop, update)):
            return None
        function = facts.function(node)
        if (
            function is None
            or function.class_role == "optimizer"
            or not runs_each_step(node, EACH_STEP, facts)
        ):
            return None
        names = [part.attr for part in below(function.node) if isinstance(part, ast.Attribute)]
        if "foreach" in names or any(name.startswith("_foreach_") for name in names):
            return None
        return Verdict(
            loop.iter,
            "The average is updated with a few small kernels for each parameter, launched from Python. "
            "Update all at once: `torch._foreach_lerp_(averages, parameters, weight)`.",
            Confidence.LIKELY,
        )


def _loop_headed_by(node: ast.expr, facts: Facts) -> ast.For | None:
    """The loop that goes over what a call in its header gives."""
    statement = facts.statement(node)
    return statement if isinstance(statement, ast.For) else None


def _loop_around(node: ast.expr, facts: Facts) -> ast.For | None:
    loops = loops_around(node, facts)
    return loops[0] if loops and isinstance(loops[0], ast.For) else None


def _goes_over_parameters(loop: ast.For) -> bool:
    return any(PARAMETERS.fullmatch(name) for part in (loop.iter, loop.target) for name in _names(part))


def _names(node: ast.AST) -> Iterator[str]:
    """The names and attributes in a node."""
    for part in below(node):
        if isinstance(part, ast.Name | ast.Attribute):
            yield last_name(part)


def _updates(loop: ast.For) -> Iterator[ast.expr]:
    """The expressions by which the loop moves one tensor towards another, unless it works on gradients."""
    nodes = [node for statement in loop.body for node in [statement, *walk_scope(statement)]]
    if GRADIENTS & set(_names(loop)):
        return
    scaled = {_target(node) for node in nodes if _scales(node)}
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            if _target(node) in scaled and _is_product(node.value):
                yield node.value
        elif isinstance(node, ast.Call) and _is_update(node, scaled):
            yield node


def _target(node: ast.AST) -> str | None:
    """The text of the tensor that a node changes in place, without ``.data`` and conversions."""
    if isinstance(node, ast.AugAssign):
        held: ast.expr = node.target
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        held = node.func.value
    else:
        return None
    while True:
        if isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute) and held.func.attr in ITSELF:
            held = held.func.value
        elif isinstance(held, ast.Attribute) and held.attr in ITSELF:
            held = held.value
        else:
            return ast.unparse(held)


def _scales(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Mult)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mul_"


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _mixes(node: ast.expr, target: str | None) -> bool:
    """Whether an expression weighs the tensor that it is written to against another."""
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
    parts = list(ast.walk(node))
    return is_sum and any(map(_is_product, parts)) and target in {ast.unparse(part) for part in parts}


def _is_update(call: ast.Call, scaled: set[str | None]) -> bool:
    """Whether a method call moves a tensor towards another: of ``t.mul_(a).add_(s, alpha=b)``, the outer."""
    if not isinstance(call.func, ast.Attribute) or not call.args:
        return False
    name, given = call.func.attr, call.args[0]
    if name == "lerp_":
        return True
    if name == "copy_":
        return _mixes(given, _target(call))
    if name == "sub_":
        return _is_product(given)
    chained = isinstance(call.func.value, ast.Call) and _scales(call.func.value)
    weighted = keyword(call, "alpha") is not None or _is_product(given)
    return name == "add_" and weighted and (chained or _target(call) in scaled)


def _stands_for(node: ast.Call, loop: ast.For, update: ast.expr) -> bool:
    """Whether the site in a loop's header reports an update that is no site of its own."""
    if isinstance(update, ast.Call):
        return False
    heads = (
        part
        for part in ast.walk(loop.iter)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in HEADERS
    )
    return next(heads, None) is node
