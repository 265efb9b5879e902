from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.inference.arguments import is_off
from warplint.static.parsing.tree import FunctionNode
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import has_unpacking
from warplint_rules._loaders import CALLS, setting
from warplint_rules._loops import Loop, loops_around


class RebuiltLoader(Rule):
    """A loader with workers is built anew in each round of the training loop, though nothing in it changes.

    ## Why is this slow?

    Each loader starts its own workers, each with its imports and its copy of the data set, before the first
    batch comes. Built once, with `persistent_workers=True`, they run on from epoch to epoch. Measured on an
    H200 with torch 2.11: an epoch of 20 batches took 0.55 s with 8 workers started anew, and 0.34 s with the
    same workers as before. The longer an epoch, the less it gains.

    ## When it stays silent

    - when an argument depends on the round: other data, another batch size, another order;
    - without workers: then there is little to build;
    - outside loops over epochs and steps: one loader a data set is right;
    - behind a condition, which mostly holds once: a batch size that changes when more layers train;
    - for loaders in functions that are called in each round, of which WL301 takes note.

    ## Fix safety

    There is no automatic fix, because a sampler that draws once would draw the same order again. Build the
    loader before the loop, and call `sampler.set_epoch(epoch)` where there is a distributed sampler.

    ## Sources

    - torch.utils.data, "Multi-process data loading"
    - pytorch/pytorch#22133, kohya-ss/sd-scripts#120
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL303"
    name = "loader-rebuilt-in-loop"
    wants = wants(calls=CALLS)
    proof = Signature(At.LINE, Metric.DATA_IDLE)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "The same loader for each epoch.",
            """\
from torch.utils.data import DataLoader


def train(model, optimizer, data):
    for epoch in range(100):
        loader = «DataLoader(data, batch_size=32, shuffle=True, num_workers=8)»
        for images in loader:
            model(images.cuda()).mean().backward()
            optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "Other data each time, or an order of its own.",
            """\
from torch.utils.data import DataLoader, SubsetRandomSampler


def train(model, optimizer, data, folds):
    for epoch in range(100):
        sampler = SubsetRandomSampler(folds[epoch])
        for images in DataLoader(data, sampler=sampler, num_workers=8):
            model(images.cuda()).mean().backward()
            optimizer.step()
        for part in data.parts:
            for images in DataLoader(part, num_workers=8):
                model(images.cuda()).mean().backward()
                optimizer.step()
""",
        ),
        Example(
            "Once, when the backbone starts to train, and without workers.",
            """\
from torch.utils.data import DataLoader


def train(model, optimizer, data, freeze_epochs):
    loader = DataLoader(data, batch_size=64, num_workers=8)
    for epoch in range(100):
        if epoch == freeze_epochs:
            loader = DataLoader(data, batch_size=16, num_workers=8)
        for images in loader:
            model(images.cuda()).mean().backward()
            optimizer.step()
        for images in DataLoader(data, batch_size=64):
            model(images.cuda()).mean().backward()
            optimizer.step()
""",
        ),
        Example(
            "A loader for each data set.",
            """\
from torch.utils.data import DataLoader


def loaders(names, data):
    found = []
    for name in names:
        found.append(DataLoader(data, num_workers=8))
    return found
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if facts.hotness(node) not in (Hotness.STEP, Hotness.EPOCH) or has_unpacking(node):
            return None
        loops = loops_around(node, facts)
        workers = setting(node, "num_workers", facts)
        if not loops or not workers or is_off(workers[0]) or _is_conditional(node, facts):
            return None
        if _depends_on(node, loops[-1]) or not _trains(loops[-1]):
            return None
        return Verdict(
            node,
            f"This loader is built anew {facts.why_hot(node)}, and its workers are started each time. Build "
            "it once before the loop, with `persistent_workers=True`.",
            Confidence.LIKELY,
        )


def _is_conditional(node: ast.expr, facts: Facts) -> bool:
    """Whether the loader is built only in some rounds."""
    current = facts.parent(node)
    while current is not None and not isinstance(current, ast.For | ast.While | FunctionNode):
        if isinstance(current, ast.If | ast.IfExp | ast.Try | ast.Match):
            return True
        current = facts.parent(current)
    return False


def _depends_on(loader: ast.Call, loop: Loop) -> bool:
    """Whether an argument is, or may hold, something that changes from round to round."""
    changed = {
        name.id for name in ast.walk(loop) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    arguments = [*loader.args, *(word.value for word in loader.keywords)]
    return any(
        isinstance(part, ast.Call) or (isinstance(part, ast.Name) and part.id in changed)
        for argument in arguments
        for part in ast.walk(argument)
    )


def _trains(loop: Loop) -> bool:
    """Whether the loop holds a backward pass: what is called in its rounds is not followed."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"backward", "manual_backward"}
        for node in ast.walk(loop)
    )
