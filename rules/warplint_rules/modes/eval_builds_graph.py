from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Related
from warplint.static.parsing.tree import FunctionNode, LoopNode, below, dotted, last_name, walk_scope
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.frequency import OPTIMIZER
from warplint_rules.modes._gradients import freezes, may_record, runs

USES = Pattern(r"\w*(adversar|attack|backward|finetune|optimi[sz]e|perturb|train|update_model)\w*|grad")
"""Calls by which a loop uses the gradients, or may."""


class EvaluationBuildsGraph(Rule):
    """An evaluation loop runs the model with gradients on, so each forward pass records a graph for nothing.

    ## Why is this slow?

    `model.eval()` changes dropout and batch normalisation only. Autograd still records every operation and
    keeps what the backward pass would need: evaluation takes about as much memory as training, batches must
    be smaller than they could be, and what is collected over the loop (`total += loss`) keeps the graphs of
    all its batches. Measured on an H200 with torch 2.11: evaluating eight convolution blocks took 875 MB with
    gradients on and 207 MB without, in the same time; a hundred small losses added up held 420 MB, and 9 MB
    detached. Repositories that fixed it did so because validation ran out of memory.

    ## When it stays silent

    - where a `with`, a decorator or `torch.set_grad_enabled` switches gradients off, or a caller in this
      file does, also under a name that this rule does not know (`with eval_mode(model):`);
    - in loops that use gradients: `backward()`, optimizer steps, adversarial examples;
    - where the parameters are frozen in the same function;
    - outside loops, and where the loop runs something else than the model that `.eval()` was called on.

    ## Fix safety

    There is no automatic fix: put `@torch.no_grad()` above the function, or `with torch.no_grad():` around
    the loop. `torch.inference_mode()` records still less, but what it gives can never enter autograd again.

    ## Sources

    - PyTorch performance tuning guide, "Disable gradient calculation for validation or inference"
    - PyTorch notes, "Autograd mechanics": `eval()` is independent of grad modes
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    - OpenNMT/OpenNMT-py#1141, hszhao/semseg#60, mapbox/robosat#109: validation ran out of memory
    """

    code = "WL601"
    name = "eval-builds-graph"
    wants = wants(methods={"eval"})
    proof = Signature(At.STEP, Metric.MEMORY)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "An evaluation function without any guard.",
            """\
import torch


def test(model, loader, device):
    model.eval()
    correct = 0
    for images, labels in «loader:
        output = model(images.to(device))»
        correct += (output.argmax(1) == labels.to(device)).sum()
    return correct / len(loader.dataset)


def main(model, loaders, device):
    for epoch in range(10):
        print(test(model, loaders["test"], device))
""",
        ),
        Example(
            "In the training function, after an epoch; the other mode is set again afterwards.",
            """\
import torch


class Trainer:
    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for batch in self.train_loader:
                self.model(batch).mean().backward()
                self.optimizer.step()
            self.model.eval()
            losses = []
            for batch in «tqdm(self.val_loader):
                with torch.autocast("cuda"):
                    losses.append(self.model(batch)».mean().item())
            self.model.train()
            for batch in self.replay:
                self.model(batch).mean().backward()
""",
        ),
    )

    quiet = (
        Example(
            "Switched off in the function, by a decorator, and by a caller.",
            """\
import torch


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        for batch in loader:
            model(batch)


@torch.inference_mode()
def predict(model, loader):
    model.eval()
    for batch in loader:
        model(batch)


def score(model, loader):
    model.eval()
    return [float(model(batch).mean()) for batch in loader]


def _evaluate(model, loader):
    model.eval()
    for batch in loader:
        model(batch)


def evaluate(model, loader):
    with torch.no_grad():
        _evaluate(model, loader)
""",
        ),
        Example(
            "A context manager of another name may switch them off.",
            """\
import torch
from monai.networks.utils import eval_mode


def validate(model, loader):
    with eval_mode(model):
        model.eval()
        for batch in loader:
            model(batch)
""",
        ),
        Example(
            "The mode is a matter of the phase, and so are gradients.",
            """\
import torch


def fit(model, loaders, optimizer):
    for phase in ["train", "val"]:
        if phase == "train":
            model.train()
        else:
            model.eval()
        for batch in loaders[phase]:
            loss = model(batch).mean()
            if phase == "train":
                loss.backward()
                optimizer.step()
""",
        ),
        Example(
            "Gradients are the point: frozen statistics while training, and adversarial examples.",
            """\
import torch


def tune(model, loader, optimizer):
    model.eval()
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def robust(model, loader, attack):
    model.eval()
    for images, labels in loader:
        images = perturb(attack, images, labels)
        print(model(images).argmax(1) == labels)
""",
        ),
        Example(
            "One forward pass, and a loop that runs something else.",
            """\
import torch


def demo(model, image, helper, loader):
    model.eval()
    print(model(image))
    for batch in loader:
        helper(batch)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        function = facts.function(node)
        model = _evaluated(node, facts)
        if model is None or function is None or isinstance(function.node, ast.Lambda):
            return None
        following = _after(node, facts)
        found = next(_loops_running(model, following), None)
        if found is None:
            return None
        loop, call = found
        if (
            _is_reported_later(following, loop)
            or _uses_gradients(loop)
            or freezes(function.node)
            or not may_record(call, facts)
        ):
            return None
        header = loop.test if isinstance(loop, ast.While) else loop.iter
        return Verdict(
            header,
            f"This loop evaluates `{model}` with gradients on: each forward pass records a graph and keeps "
            "its activations, for nothing. Put `with torch.no_grad():` around it, or `@torch.no_grad()` "
            "above the function.",
            Confidence.LIKELY,
            related=(Related(facts.span(call), "This forward pass is recorded."),),
            through=call,
        )


def _evaluated(call: ast.Call, facts: Facts) -> str | None:
    """The dotted name of the model that is put into evaluation mode, if the call is that."""
    assert isinstance(call.func, ast.Attribute)
    if call.args or call.keywords:
        return None
    statement = facts.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        return dotted(statement.targets[0])
    is_statement = isinstance(statement, ast.Expr) and statement.value is call
    return dotted(call.func.value) if is_statement else None


def _after(call: ast.Call, facts: Facts) -> list[ast.stmt]:
    """The statements that run after the one a call is, in the same branch of the same body."""
    statement = facts.statement(call)
    around = facts.parent(statement)
    for field in ("body", "orelse", "finalbody"):
        body = getattr(around, field, None)
        if isinstance(body, list) and statement in body:
            return body[body.index(statement) + 1 :]
    return []


def _loops_running(model: str, statements: list[ast.stmt]) -> Iterator[tuple[LoopNode, ast.Call]]:
    """The innermost loops around forward passes of a model, as long as it stays in evaluation mode."""
    for statement in statements:
        if isinstance(statement, FunctionNode | ast.ClassDef):
            continue
        nodes = [statement, *walk_scope(statement)]
        if any(_starts_training(node, model) for node in nodes):
            return
        loops = sorted((node for node in nodes if isinstance(node, LoopNode)), key=_size)
        for loop in loops:
            for node in walk_scope(loop):
                if isinstance(node, ast.Call) and runs(node, model):
                    yield loop, node
                    return


def _is_reported_later(following: list[ast.stmt], loop: LoopNode) -> bool:
    """Whether another model that the loop runs is put into evaluation mode between this one and the loop."""
    for statement in following:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "eval":
            model = dotted(call.func.value)
            if model is not None and any(runs(node, model) for node in walk_scope(loop)):
                return True
    return False


def _size(loop: LoopNode) -> int:
    assert loop.end_lineno is not None, "parsing sets end positions"
    return loop.end_lineno - loop.lineno


def _starts_training(node: ast.AST, model: str) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == f"{model}.train"


def _uses_gradients(loop: LoopNode) -> bool:
    return any(isinstance(node, ast.Call) and _needs_gradients(node.func) for node in below(loop))


def _needs_gradients(called: ast.expr) -> bool:
    if isinstance(called, ast.Attribute) and called.attr == "step":
        return OPTIMIZER.fullmatch(last_name(called.value)) is not None
    return USES.fullmatch(last_name(called)) is not None
