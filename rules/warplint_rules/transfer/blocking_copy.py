from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts, Role, UseKind
from warplint.static.finding import Applicability, Confidence, Hotness
from warplint.static.rules.rule import (
    At,
    Example,
    Metric,
    Rewrite,
    Risk,
    Rule,
    Severity,
    Signature,
    Verdict,
    wants,
)
from warplint.static.values import Kind
from warplint_rules._calls import has_unpacking, with_keyword
from warplint_rules._gradients import runs_without_gradients
from warplint_rules._loaders import is_pinned
from warplint_rules._text import short

if TYPE_CHECKING:
    import libcst as cst

CONVERSIONS = {"torch.float32", "torch.float", "torch.int64", "torch.long"}
"""Element types that loaders hand out anyway: asking for them converts nothing, mostly."""
_MAX_STEPS = 2
"""Operations that are followed from the copy to where its result is read."""


class BlockingCopy(Rule):
    """A pinned batch is copied to the GPU without `non_blocking=True`.

    ## Why is this slow?

    A loader with `pin_memory=True` puts its batches where the GPU can fetch them by itself. Without
    `non_blocking=True` the host still waits until the copy is done, and so for all work queued before it: the
    next operations are queued late, and the GPU may run dry between steps. Measured on an H200 with torch
    2.11: `.to(device)` from pinned memory waits for the whole queue, with `non_blocking=True` it returns at
    once. Where the GPU is busy anyway that gains nothing: a step that copies 64 MB and multiplies two
    matrices took as long either way. It gains where the host is late, and a `.item()` in each step takes it
    back.

    ## When it stays silent

    - when the batch is not seen to come from a loader that pins: from pageable memory `non_blocking=True`
      changes nothing (see WL301 for such loaders);
    - when the copy also converts the element type: the host does that first, into pageable memory;
    - when the host reads the result at once;
    - outside training: evaluation and prediction run for a small part of the time;
    - on what Accelerate, Fabric or Lightning hand out, which is on the GPU already.

    ## Fix safety

    Safe. GPU work is queued behind the copy, so it sees the whole batch, and PyTorch keeps the pinned memory
    until the copy has read it. On the CPU the argument does nothing. The fix is unsafe where a batch moves as
    one object of a class of its own, whose `to` may not know the argument.

    ## Sources

    - PyTorch tutorial on `pin_memory` and `non_blocking`
    - CUDA semantics, "Use pinned memory buffers"
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt` and
      `bench/results/h200/advice_gains.txt`
    """

    code = "WL320"
    name = "blocking-copy-of-pinned-batch"
    wants = wants(methods={"to", "cuda"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.LOW
    severity = Severity.INFO

    fires = (
        Example(
            "Images and labels of a loader that pins.",
            """\
from torch.utils.data import DataLoader


def fit(model, criterion, optimizer, data, device):
    loader = DataLoader(data, shuffle=True, num_workers=4, pin_memory=True)
    for epoch in range(10):
        for images, labels in loader:
            images = «images.to(device)»
            labels = «labels.to(device)»
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
""",
            """\
from torch.utils.data import DataLoader


def fit(model, criterion, optimizer, data, device):
    loader = DataLoader(data, shuffle=True, num_workers=4, pin_memory=True)
    for epoch in range(10):
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
""",
        ),
        Example(
            "The loader is handed to the function, and its settings come in a dictionary.",
            """\
import torch
from torch.utils.data import DataLoader


def train(model, device, train_loader, optimizer):
    for index, (data, target) in enumerate(train_loader):
        data, target = «data.to(device)», «target.to(device)»
        loss = torch.nn.functional.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()


def main(model, data, options, optimizer):
    use_cuda = torch.cuda.is_available()
    settings = {"batch_size": options.batch_size}
    if use_cuda:
        more = {"num_workers": 1, "pin_memory": True, "shuffle": True}
        settings.update(more)
    train_loader = DataLoader(data, **settings)
    for epoch in range(options.epochs):
        train(model, torch.device("cuda"), train_loader, optimizer)
""",
            """\
import torch
from torch.utils.data import DataLoader


def train(model, device, train_loader, optimizer):
    for index, (data, target) in enumerate(train_loader):
        data, target = data.to(device, non_blocking=True), target.to(device, non_blocking=True)
        loss = torch.nn.functional.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()


def main(model, data, options, optimizer):
    use_cuda = torch.cuda.is_available()
    settings = {"batch_size": options.batch_size}
    if use_cuda:
        more = {"num_workers": 1, "pin_memory": True, "shuffle": True}
        settings.update(more)
    train_loader = DataLoader(data, **settings)
    for epoch in range(options.epochs):
        train(model, torch.device("cuda"), train_loader, optimizer)
""",
        ),
        Example(
            "Each part of a batch in a comprehension, of a loader made in the constructor.",
            """\
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, data, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.train_loader = DataLoader(data, shuffle=True, pin_memory=True, num_workers=8)

    def train(self):
        for batch in self.train_loader:
            inputs = {name: «part.cuda()» for name, part in batch.items()}
            loss = self.model(**inputs).loss
            loss.backward()
            self.optimizer.step()
""",
            """\
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, data, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.train_loader = DataLoader(data, shuffle=True, pin_memory=True, num_workers=8)

    def train(self):
        for batch in self.train_loader:
            inputs = {name: part.cuda(non_blocking=True) for name, part in batch.items()}
            loss = self.model(**inputs).loss
            loss.backward()
            self.optimizer.step()
""",
        ),
        Example(
            "Pinned where there is a GPU, fetched with `next`.",
            """\
import torch
from torch.utils.data import DataLoader


def train(model, data, optimizer, steps):
    use_gpu = torch.cuda.is_available()
    batches = iter(DataLoader(data, shuffle=True, pin_memory=use_gpu))
    for step in range(steps):
        images = next(batches)["image"]
        loss = model(«images.to("cuda")»).mean()
        loss.backward()
        optimizer.step()
""",
            """\
import torch
from torch.utils.data import DataLoader


def train(model, data, optimizer, steps):
    use_gpu = torch.cuda.is_available()
    batches = iter(DataLoader(data, shuffle=True, pin_memory=use_gpu))
    for step in range(steps):
        images = next(batches)["image"]
        loss = model(images.to("cuda", non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "Not pinned, or pinned only if an option says so.",
            """\
from torch.utils.data import DataLoader


def fit(model, optimizer, data, options):
    plain = DataLoader(data, shuffle=True, num_workers=4)
    for images in plain:
        model(images.cuda()).mean().backward()
        optimizer.step()
    perhaps = DataLoader(data, shuffle=True, num_workers=4, pin_memory=options.pin)
    for images in perhaps:
        model(images.cuda()).mean().backward()
        optimizer.step()
    off = DataLoader(data, shuffle=True, num_workers=4, pin_memory=False)
    for images in off:
        model(images.cuda()).mean().backward()
        optimizer.step()
""",
        ),
        Example(
            "Not blocking already, by name or by position; to the CPU; to another precision.",
            """\
import torch
from torch.utils.data import DataLoader


def fit(model, optimizer, data):
    for images, labels, weights, masks in DataLoader(data, shuffle=True, pin_memory=True):
        images = images.cuda(non_blocking=True)
        labels = labels.to("cuda", torch.int64, True)
        masks = masks.to("cpu")
        weights = weights.to("cuda", torch.float16)
        loss = (model(images, labels) * weights).mean()
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "What is made from a batch on the host is not pinned any more.",
            """\
import torch
from torch.utils.data import DataLoader


def fit(model, optimizer, data):
    for images, lengths in DataLoader(data, shuffle=True, pin_memory=True):
        order = torch.argsort(lengths)
        chosen = images[order].cuda()
        noise = torch.rand(4, 3).cuda()
        loss = model(chosen, noise).mean()
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "A loader that Accelerate has prepared hands out batches on the GPU.",
            """\
from torch.utils.data import DataLoader


def fit(accelerator, model, optimizer, data):
    loader = DataLoader(data, shuffle=True, pin_memory=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for images in loader:
        loss = model(images.to(accelerator.device)).mean()
        accelerator.backward(loss)
        optimizer.step()
""",
        ),
        Example(
            "Evaluation, and a model that moves.",
            """\
import torch
from torch.utils.data import DataLoader


def validate(model, data, device):
    model.to(device)
    with torch.no_grad():
        for images in DataLoader(data, pin_memory=True):
            model(images.to(device))


def fit(model, optimizer, data, validation_data):
    loader = DataLoader(data, shuffle=True, pin_memory=True)
    validation_loader = DataLoader(validation_data, pin_memory=True)
    for step, images in enumerate(loader):
        model(images.cuda(non_blocking=True)).mean().backward()
        optimizer.step()
        if step % 1000 == 0:
            with torch.no_grad():
                for images in validation_loader:
                    model(images.cuda())
""",
        ),
        Example(
            "The host reads the result at once.",
            """\
from torch.utils.data import DataLoader


def fit(model, optimizer, data):
    for images, counts in DataLoader(data, shuffle=True, pin_memory=True):
        total = counts.cuda().sum().item()
        (model(images.cuda(non_blocking=True)).sum() / total).backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if _may_not_block(node) or facts.hotness(node) is not Hotness.STEP or not _in_training(node, facts):
            return None
        moved = facts.value(node)
        part = moved.element if moved.kind is Kind.SEQUENCE else moved
        if part is None or not part.on_accelerator or _converts(node, facts):
            return None
        batch = node.func.value
        if not is_pinned(batch, facts) or _is_read_at_once(node, facts):
            return None
        is_part = moved.kind is Kind.TENSOR
        return Verdict(
            node,
            f"`{short(node)}` makes the host wait {facts.why_hot(node)} until the copy is done, though the "
            "batch is pinned. With `non_blocking=True` the host goes on and the copy runs beside.",
            Confidence.LIKELY,
            Applicability.SAFE if is_part else Applicability.UNSAFE,
            "Add non_blocking=True",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call), "a site is a call"
        return Rewrite(with_keyword(node, "non_blocking", cst.Name("True")))


def _may_not_block(call: ast.Call) -> bool:
    """Whether the call says itself whether it waits, or may do so in what it unpacks."""
    if has_unpacking(call) or any(word.arg == "non_blocking" for word in call.keywords):
        return True
    return any(isinstance(given, ast.Constant) and isinstance(given.value, bool) for given in call.args)


def _in_training(node: ast.expr, facts: Facts) -> bool:
    """Whether the copy belongs to a training step, and not to a validation in between."""
    if runs_without_gradients(node, facts):
        return False
    function = facts.function(node)
    if function is not None and function.role is Role.TRAIN_STEP:
        return True
    return "training" in facts.why_hot(node)


def _converts(call: ast.Call, facts: Facts) -> bool:
    """Whether the copy asks for an element type that the batch may not have."""
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "dtype")]
    named = [facts.value(value) for value in given]
    return any(
        value.kind is Kind.DTYPE and (value.qualified or value.constant) not in CONVERSIONS for value in named
    )


def _is_read_at_once(call: ast.Call, facts: Facts) -> bool:
    """Whether all that becomes of the copy, or of what is computed from it, is read by the host."""
    uses = list(facts.uses(call))
    for _ in range(_MAX_STEPS):
        further = [use.node for use in uses if use.kind is UseKind.OTHER]
        uses = [use for use in uses if use.kind is not UseKind.OTHER]
        for node in further:
            uses.extend(facts.uses(node) if isinstance(node, ast.expr) else ())
    return bool(uses) and all(use.kind is UseKind.HOST for use in uses)
