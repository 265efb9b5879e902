from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables import frequency
from warplint.static.values import Kind
from warplint_rules._loaders import loaders_of
from warplint_rules._text import short


class RestartedIterator(Rule):
    """`next(iter(loader))` starts the loader anew for each batch.

    ## Why is this slow?

    `iter(loader)` starts an epoch: the sampler draws an order for the whole data set, the workers are started
    and fetch several batches ahead. `next` takes the first batch, and all the rest is thrown away with the
    iterator. Each step so pays the start of an epoch. Without shuffling, each step also sees the same batch.
    Measured on an H200 with torch 2.11: five batches of a loader with 8 workers took 2.3 s this way, and 0.5
    s from one iterator.

    ## When it stays silent

    - outside code that runs every step: one batch for a look at the data is cheap;
    - when what is iterated is not seen to be a loader.

    ## Fix safety

    There is no automatic fix, because the batches after it are other ones. Make the iterator once before the
    loop, and a new one when it raises `StopIteration`.

    ## Sources

    - torch.utils.data, "Single- and Multi-process Data Loading"
    - pytorch/pytorch#1917
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL302"
    name = "iterator-restarted-each-step"
    wants = wants(builtins=["next"])
    proof = Signature(At.LINE, Metric.DATA_IDLE)
    risk = Risk.HIGH
    preview = True

    fires = (
        Example(
            "A batch of a second loader in each step.",
            """\
from torch.utils.data import DataLoader


def train(model, optimizer, source, target):
    source_loader = DataLoader(source, shuffle=True, num_workers=4)
    target_loader = DataLoader(target, shuffle=True, num_workers=4)
    for images in source_loader:
        others = «next(iter(target_loader))»
        loss = model(images, others)
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "Steps that are counted.",
            """\
def train(model, optimizer, train_loader, steps):
    for step in range(steps):
        images, labels = «next(iter(train_loader))»
        loss = model(images, labels)
        loss.backward()
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "One iterator, made again when it has ended.",
            """\
def train(model, optimizer, train_loader, steps):
    batches = iter(train_loader)
    for step in range(steps):
        try:
            images = next(batches)
        except StopIteration:
            batches = iter(train_loader)
            images = next(batches)
        loss = model(images)
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "A look at the data, pictures now and then, and other things than loaders.",
            """\
from torch.utils.data import DataLoader


def train(model, optimizer, data, val_loader):
    loader = DataLoader(data, shuffle=True)
    first = next(iter(loader))
    for step, images in enumerate(loader):
        device = next(iter(model.parameters())).device
        loss = model(images.to(device))
        loss.backward()
        optimizer.step()
        if step % 500 == 0:
            show(model, next(iter(val_loader)))
    return first
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        made = node.args[0] if node.args else None
        if not isinstance(made, ast.Call) or last_name(made.func) != "iter" or len(made.args) != 1:
            return None
        if facts.hotness(node) is not Hotness.STEP or not _is_loader(made.args[0], facts):
            return None
        return Verdict(
            node,
            f"`{short(node)}` {facts.why_hot(node)} starts the loader and its workers anew for one batch "
            "and throws the others away. Make the iterator once before the loop.",
            Confidence.LIKELY,
        )


def _is_loader(iterated: ast.expr, facts: Facts) -> bool:
    if facts.value(iterated).kind is Kind.LOADER or loaders_of(iterated, facts):
        return True
    return (
        isinstance(iterated, ast.Name | ast.Attribute)
        and facts.value(iterated).kind is Kind.UNKNOWN
        and frequency.LOADER.fullmatch(last_name(iterated)) is not None
    )
