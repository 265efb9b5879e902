from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.facts import Facts, Role
from warplint.static.finding import Confidence, Hotness
from warplint.static.rule import At, Example, Metric, Rule, Signature, Verdict, wants
from warplint.static.values import Kind, Place
from warplint_rules._calls import keyword

NUMBER_READS = {"item", "tolist"}
"""Methods that hand a tensor's content to Python."""
ARRAY_READS = {"cpu", "numpy", "to"}
"""Methods that copy a tensor to host memory, mostly for a library that needs it there."""
CASTS = {"bool", "complex", "float", "int"}
TEXTS = {"print", "repr", "str"}
QUIET_ROLES = {Role.SETUP, Role.DATA}
"""Code that is not part of a step, or works on the host anyway."""

SHOWN = 40
"""Characters of an expression that a message quotes."""

Loop = ast.For | ast.AsyncFor | ast.While | ast.comprehension


class HostReadInHotLoop(Rule):
    """Python reads the content of a GPU tensor in code that runs every step.

    ## Why is this slow?

    The host stops until the GPU has done all work queued so far, and only then goes on to queue more. As
    long as the GPU was behind, nothing is lost but the lead; where the host is the slower side, the GPU
    then idles. Measured on an H200 with torch 2.11: each of `.item()`, `.tolist()`, `.cpu()`, `float()`,
    `bool()`, a condition, `print` and an f-string waits for the queue to drain; one `loss.item()` a step
    cost 3.4% of a launch-bound MLP's step. Reported elsewhere: 40 to 50 ms a step in a fine-tuning recipe,
    under 1% in a run where the GPU was the bottleneck. How much it is in your program, a capture tells.

    ## When it stays silent

    - behind a guard that opens every N steps, once an epoch or once a rollout;
    - on NumPy arrays, Python numbers, configuration values, shapes and sizes, and tensors on the CPU;
    - in data sets, transforms, processors, set-up and plotting;
    - where a batch is copied to the host for a library that needs it there, outside the loop with
      `backward()`;
    - when the engine cannot tell that the value is a tensor.

    ## Fix safety

    There is no automatic fix: when a value is read decides what the program logs and when it stops. Keep
    sums as tensors (`total += loss.detach()`) and read them once, after the loop or every N steps; read a
    row with one `.tolist()` instead of element by element; replace a condition on values by `torch.where`.

    ## Sources

    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization"
    - pytorch/torchtune#522: the wait for `loss.item()` in a progress bar
    - measured on an H200, torch 2.11: which calls make the host wait
    """

    code = "WL201"
    name = "host-read-in-hot-loop"
    wants = wants(methods=NUMBER_READS | ARRAY_READS, builtins=CASTS | TEXTS, conditions=True, formats=True)
    proof = Signature(At.LINE, Metric.WAIT)

    fires = (
        Example(
            "The loss is printed on every step.",
            """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer):
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(«loss.item()»)
""",
        ),
        Example(
            "A running sum kept as a Python number, in a script.",
            """\
import torch
from torch import nn

device = torch.device("cuda")
model = nn.Linear(4, 2).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(10):
    total = 0.0
    for inputs, targets in loader:
        loss = criterion(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += «float(loss)»
    print(total)
""",
        ),
        Example(
            "An f-string reads the tensor just as `.item()` does.",
            """\
import torch


def train(model, loader, optimizer, logger):
    for batch in loader:
        loss = model(batch.to("cuda")).square().mean()
        loss.backward()
        optimizer.step()
        logger.info(«f"loss {loss:.4f}"»)
""",
        ),
        Example(
            "A condition on values, in the model: the host waits before it knows what to queue.",
            """\
import torch
from torch import nn


class Pool(nn.Module):
    def forward(self, features, owners):
        pooled = []
        for index in range(8):
            mine = owners == index
            if «mine.any()»:
                pooled.append((features * mine[:, None]).sum(0))
        return torch.stack(pooled)
""",
        ),
        Example(
            "One read an element, where one `.tolist()` would do.",
            """\
import torch
from torch import nn


class Decoder(nn.Module):
    def forward(self, logits):
        best = logits.argmax(-1)
        ended = []
        for row in range(best.size(0)):
            ended.append(«best[row].item()» == 0)
        return ended
""",
        ),
        Example(
            "Accuracy by NumPy in the training loop.",
            """\
import numpy as np
import torch


def train(model, loader, optimizer, criterion):
    for images, labels in loader:
        output = model(images.cuda())
        loss = criterion(output, labels.cuda())
        loss.backward()
        optimizer.step()
        hits = np.argmax(«output.detach().cpu()».numpy(), axis=1)
        yield hits
""",
        ),
        Example(
            "A helper that the loop calls.",
            """\
import torch
from torch import nn


def step(model: nn.Module, batch, optimizer):
    loss = model(batch.cuda()).mean()
    loss.backward()
    optimizer.step()
    return «loss.item()»


def train(model, loader, optimizer):
    losses = []
    for batch in loader:
        losses.append(step(model, batch, optimizer))
    return losses
""",
        ),
    )

    quiet = (
        Example(
            "Every hundredth step only.",
            """\
import torch


def train(model, loader, optimizer, log_every):
    for step, batch in enumerate(loader):
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        if step % log_every == 0:
            print(step, loss.item())
""",
        ),
        Example(
            "Summed on the GPU and read once an epoch.",
            """\
import torch


def train(model, loader, optimizer):
    for epoch in range(10):
        total = torch.zeros((), device="cuda")
        for batch in loader:
            loss = model(batch.cuda()).mean()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(epoch, total.item())
""",
        ),
        Example(
            "A NumPy mask.",
            """\
import numpy as np
import torch


def train(model, loader, optimizer):
    for image, batch in loader:
        mask = np.array(image)
        if (mask == 0).all():
            continue
        low = mask.max().item()
        loss = model(batch.cuda() - low).mean()
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "Numbers of the configuration, shapes and lengths.",
            """\
import torch


def train(model, loader, optimizer, config):
    for batch in loader:
        x = batch.cuda()
        if x.shape[0] < int(config.batch_size) or x.dim() != 4 or x.requires_grad:
            continue
        loss = model(x).mean() * float(config.weight)
        if config.clip is not None and loss is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), float(config.clip))
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "A tensor just made from Python numbers, on the CPU.",
            """\
import torch


def train(model, loader, optimizer):
    for batch, scores in loader:
        weights = torch.tensor([float(score) for score in scores])
        if not torch.isfinite(weights).all():
            raise ValueError("bad scores")
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "A data set works on the CPU.",
            """\
import torch
from torch.utils.data import Dataset


class Sentences(Dataset):
    def __getitem__(self, index):
        ids = self.encode(self.lines[index])
        return [token for token in ids.tolist() if token]
""",
        ),
        Example(
            "Drop rates read from a CPU tensor while the model is set up.",
            """\
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, depth):
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, 0.1, depth, device="cpu")]
        self.layers = nn.ModuleList(nn.Dropout(rate) for rate in rates)
""",
        ),
        Example(
            "An evaluation hands arrays to a library that works on the host.",
            """\
import torch
from sklearn.metrics import f1_score


@torch.no_grad()
def evaluate(model, loader):
    scores = []
    for images, labels in loader:
        predicted = model(images.cuda()).argmax(-1)
        scores.append(f1_score(labels.numpy(), predicted.cpu().numpy()))
    return scores
""",
        ),
        Example(
            "A copy in the background: the host does not wait here.",
            """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        output = model(batch.cuda())
        loss = output.mean()
        loss.backward()
        optimizer.step()
        kept = output.detach().to("cpu", non_blocking=True)
        yield kept
""",
        ),
        Example(
            "The loop over epochs is not the loop over steps.",
            """\
import torch


def fit(model, loader, optimizer):
    for epoch in range(5):
        loss = run_epoch(model, loader, optimizer)
        print(epoch, loss.item())


def run_epoch(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
    return loss
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if facts.hotness(node) is not Hotness.STEP:
            return None
        function = facts.function(node)
        if function is not None and function.role in QUIET_ROLES:
            return None
        read = next((operand for operand in _operands(node) if facts.value(operand).on_accelerator), None)
        if read is None or (_is_array_read(node) and not _can_be_spared(node, facts)):
            return None
        proven = facts.value(read).place is Place.ACCELERATOR
        confidence = Confidence.CERTAIN if proven else Confidence.LIKELY
        return Verdict(_shown(node, facts), _message(node, read, facts), confidence)


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions whose content a nominated site reads."""
    if not isinstance(node, ast.Call):
        yield node
    elif isinstance(node.func, ast.Attribute) and node.func.attr in NUMBER_READS | ARRAY_READS:
        if node.func.attr != "to" or _goes_to_the_cpu(node):
            yield node.func.value
    elif isinstance(node.func, ast.Name) and node.func.id in CASTS | TEXTS:
        yield from node.args
    else:
        yield node


def _shown(node: ast.expr, facts: Facts) -> ast.expr:
    """What to underline: an f-string as a whole, since its parts have no place before Python 3.12."""
    value = facts.parent(node)
    text = facts.parent(value) if isinstance(value, ast.FormattedValue) else None
    return text if isinstance(text, ast.JoinedStr) else node


def _goes_to_the_cpu(call: ast.Call) -> bool:
    """Whether ``.to(…)`` names the CPU and waits for the copy."""
    target = keyword(call, "device") or (call.args[0] if call.args else None)
    in_background = keyword(call, "non_blocking") is not None
    return isinstance(target, ast.Constant) and target.value == "cpu" and not in_background


def _is_array_read(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ARRAY_READS
    )


def _can_be_spared(node: ast.expr, facts: Facts) -> bool:
    """Whether a copy to the host is probably not there for a library that needs the batch on the host.

    In a loop that also trains it is for a figure nobody needs every step; in a loop inside a step it goes
    element by element.
    """
    loops = list(_loops(node, facts))
    return any(_trains(loop) for loop in loops) or (bool(loops) and not _is_batch_loop(loops[0], facts))


def _loops(node: ast.expr, facts: Facts) -> Iterator[Loop]:
    """The loops around a node within its function, innermost first."""
    parent = facts.parent(node)
    while parent is not None and not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.While)):
            yield parent
        elif isinstance(parent, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            yield from reversed(parent.generators)
        parent = facts.parent(parent)


def _trains(loop: Loop) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in ast.walk(loop))


def _is_batch_loop(loop: Loop, facts: Facts) -> bool:
    """Whether a loop goes over batches: then a copy in it is one a step."""
    return isinstance(loop, ast.While) or any(
        isinstance(node, ast.expr) and facts.value(node).kind in (Kind.LOADER, Kind.UNKNOWN)
        for node in ast.walk(loop.iter)
    )


def _message(node: ast.expr, read: ast.expr, facts: Facts) -> str:
    what = f"`{_short(node)}`" if node is not read else f"The test of `{_short(node)}`"
    return (
        f"{what} makes the host wait {facts.why_hot(node)} until the GPU has done all its queued work: 3% of "
        f"a small model's step measured on an H200, up to 50 ms a step reported. {_advice(node, read, facts)}"
    )


def _advice(node: ast.expr, read: ast.expr, facts: Facts) -> str:
    value = _short(read)
    if node is read:
        return "Decide on the GPU with `torch.where`, or test every N steps."
    if any(not _is_batch_loop(loop, facts) for loop in _loops(node, facts)):
        return "Read the whole tensor with one `.tolist()` before the loop."
    if _is_array_read(node):
        return f"Keep `{value}` on the GPU and copy it once, after the loop."
    return f"Keep `{value}` as a tensor (`.detach()`) and read it every N steps or after the loop."


def _short(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
