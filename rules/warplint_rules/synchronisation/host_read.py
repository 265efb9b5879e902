from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.facts import Facts, UseKind
from warplint.static.finding import Hotness
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Kind, Place
from warplint_rules._calls import is_set, keyword
from warplint_rules._lightning import logging_call
from warplint_rules._loops import Loop, loops_around
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import CASTS, counts, is_read_by_test, waiting

NUMBER_READS = {"item", "tolist"}
"""Methods that hand a tensor's content to Python."""
ARRAY_READS = {"cpu", "numpy", "to"}
"""Methods that copy a tensor to host memory, mostly for a library that needs it there."""
TEXTS = {"print", "repr", "str"}
HOST_WORK = {"step", "decode", "batch_decode", "convert_ids_to_tokens"}
"""Methods that need their arguments on the host: those of simulations and tokenizers."""
CONVERSIONS = {UseKind.HOST, UseKind.OTHER}


class HostReadInHotLoop(Rule):
    """Python reads the content of a GPU tensor in code that runs every step.

    ## Why is this slow?

    The host stops until the GPU has done all work queued so far, and only then goes on to queue more. As
    long as the GPU was behind, nothing is lost but the lead; where the host is the slower side, the GPU
    then idles. Measured on an H200 with torch 2.11: each of `.item()`, `.tolist()`, `.cpu()`, `float()`,
    `bool()`, a condition, `print` and an f-string waits for the queue to drain.

    What that costs differs much. Measured likewise: one `loss.item()` at the end of a training step of 20
    linear layers cost nothing beyond what two runs differ by. Reported elsewhere: 40 to 50 ms a step in a
    fine-tuning recipe, 5 to 10% of the time of another training. How much it is in your program, a capture
    tells.

    ## When it stays silent

    - behind a guard that opens every N steps, once an epoch or once a rollout;
    - behind a guard that opens on one rank only (`if rank == 0:`, `if is_main_process():`), though that rank
      waits in each step, and where the step has collectives all others wait for it: read the value every N
      steps there too;
    - in branches that run only where tensors are on the CPU (`if not x.is_cuda:`), and leave them there;
    - on NumPy arrays, Python numbers, configuration values, shapes and sizes, and tensors on the CPU;
    - in a program that trains a model of its own and names no device at all;
    - in data sets, transforms, processors, set-up, plotting and tests;
    - for what an environment's `step` or a tokenizer needs;
    - in the arguments of Lightning's `self.log`: another rule reports those (`lightning-log-item`);
    - where a batch is copied to the host for a library that needs it there, outside the loop with
      `backward()`;
    - when the engine cannot tell that the value is a tensor.

    ## Fix safety

    There is no automatic fix: when a value is read decides what the program logs and when it stops. Keep
    sums as tensors (`total += loss.detach()`) and read them once, after the loop or every N steps; read a
    row with one `.tolist()` instead of element by element; replace a condition on values by `torch.where`.

    ## Sources

    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization"
    - pytorch/torchtune#522 and openvdb/fvdb-reality-capture#144: what `loss.item()` in a progress bar cost
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt` and
      `bench/results/h200/advice_gains.txt`
    """

    code = "WL201"
    name = "host-read-in-hot-loop"
    wants = wants(methods=NUMBER_READS | ARRAY_READS, builtins=CASTS | TEXTS, conditions=True, formats=True)
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "In an autograd function: models run it in each step, forward and backward.",
            """\
import torch


class Clamped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        if «x.abs().max().item()» < bound:
            return x
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, grad):
        share = «float(grad.norm())»
        return grad * share, None
""",
        ),
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
            "Counts copied to the host in a layer, and their maximum copied back.",
            """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, logits):
        mask = nn.functional.one_hot(logits.argmax(1), num_classes=8)
        counts = «mask.sum(0).to("cpu")»
        capacity = counts.max().to(logits.device)
        self.routed = «mask.sum().to(torch.device("cpu"))»
        return mask.cumsum(0) < capacity
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
        Example(
            "Read once by the test; not again in its branch, nor for what an assertion says when it fails.",
            """\
import torch
from torch import nn


class Ratio(nn.Module):
    def forward(self, x, bound):
        assert x.dim() == 2, f"{x} has no two dimensions"
        loss = x.mean()
        if «loss.item()» > 1.0:
            print(f"out of range: {loss.item()}")
        return loss
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
            "A program that trains a model of its own and names no device: it all stays on the CPU.",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x)


def train(model, optimizer, data):
    total = 0.0
    for x, y in data:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def main(data):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        print(train(model, optimizer, data))


if __name__ == "__main__":
    main([(torch.rand(4, 3), torch.zeros(4, dtype=torch.long))])
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
            "A mere name is tested for being there, not for its value.",
            """\
import torch
from torch import nn


class Masked(nn.Module):
    def forward(self, x, mask, prompt):
        if mask and self.training:
            x = x * mask
        return x, prompt or "none"
""",
        ),
        Example(
            "A simulation on the host needs the action before it can go on.",
            """\
import torch


def collect(policy, env, optimizer):
    observation = env.reset()
    for _ in range(100):
        action = policy(torch.as_tensor(observation).cuda())
        chosen = action.argmax(-1).cpu().numpy()
        observation, reward, done, _ = env.step(chosen)
        loss = -action.max() * reward
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "What a module gives is wanted on the host as a whole.",
            """\
import torch
from torch import nn


class Detector(nn.Module):
    def forward(self, x):
        boxes = self.head(x).cpu()
        return boxes, boxes.exp()
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
        if not counts(node, facts) or logging_call(node, facts) is not None:
            return None
        read = next(
            (operand for operand in _operands(node, facts) if facts.value(operand).on_accelerator), None
        )
        if read is None or _is_needed(node, facts) or is_read_by_test(read, node, facts):
            return None
        return waiting(_shown(node, facts), facts.value(read), _message(node, read, facts))


def _operands(node: ast.expr, facts: Facts) -> Iterator[ast.expr]:
    """The expressions whose content a nominated site reads."""
    if not isinstance(node, ast.Call):
        if _has_a_truth(node, facts):
            yield node
    elif isinstance(node.func, ast.Attribute) and node.func.attr in NUMBER_READS | ARRAY_READS:
        if node.func.attr != "to" or _goes_to_the_cpu(node, facts):
            yield node.func.value
    elif isinstance(node.func, ast.Name) and node.func.id in CASTS | TEXTS:
        yield from node.args
    else:
        yield node


def _has_a_truth(node: ast.expr, facts: Facts) -> bool:
    """Whether a tested tensor has one element, as only then it can be tested: of a mere name, that must show.

    ``if mask:`` mostly asks whether something was handed over at all.
    """
    value = facts.value(node)
    is_name = isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(
        facts.parent(node), ast.FormattedValue
    )
    return not is_name or value.ndim == 0


def _shown(node: ast.expr, facts: Facts) -> ast.expr:
    """What to underline: an f-string as a whole, since its parts have no place before Python 3.12."""
    value = facts.parent(node)
    text = facts.parent(value) if isinstance(value, ast.FormattedValue) else None
    return text if isinstance(text, ast.JoinedStr) else node


def _goes_to_the_cpu(call: ast.Call, facts: Facts) -> bool:
    """Whether ``.to(…)`` names the CPU and waits for the copy."""
    target = keyword(call, "device") or (call.args[0] if call.args else None)
    if target is None or is_set(call, "non_blocking"):
        return False
    if isinstance(target, ast.Constant):
        return target.value == "cpu"
    device = facts.value(target)
    return device.kind is Kind.DEVICE and device.place is Place.CPU


def _is_array_read(node: ast.expr) -> bool:
    method = node.func if isinstance(node, ast.Call) else None
    return isinstance(method, ast.Attribute) and method.attr in ARRAY_READS


def _is_needed(node: ast.expr, facts: Facts) -> bool:
    """Whether the content is needed on the host at this very step.

    A copy of a whole tensor mostly is, for a library that works on the host; but not in a loop that also
    trains, where it is for a figure nobody needs every step, nor in a loop inside a step, where it goes
    piece by piece. One number never is, nor what is copied back.
    """
    if _reaches(node, HOST_WORK, facts):
        return True
    if _is_array_read(node) and (facts.value(node).ndim == 0 or _comes_back(node, facts)):
        return False
    loops = loops_around(node, facts)
    return _is_array_read(node) and not any(_trains(loop) or _is_inside_a_step(loop, facts) for loop in loops)


def _comes_back(node: ast.expr, facts: Facts) -> bool:
    """Whether a copy on the host, or what PyTorch computes from it there, is copied to the GPU again."""
    pending, seen = [node], {node}
    while pending:
        for use in facts.uses(pending.pop()):
            if not isinstance(use.node, ast.expr) or use.node in seen:
                continue
            if use.kind is UseKind.MOVED and facts.value(use.node).on_accelerator:
                return True
            seen.add(use.node)
            if use.kind in (UseKind.OTHER, UseKind.COMBINED) and facts.value(use.node).on_cpu:
                pending.append(use.node)
    return False


def _reaches(node: ast.expr, methods: set[str], facts: Facts) -> bool:
    """Whether a value goes into a call of one of the methods, through names and conversions on the host."""
    pending, seen = [node], {node}
    while pending:
        for use in facts.uses(pending.pop()):
            call = use.node
            if not isinstance(call, ast.Call) or call in seen:
                continue
            if isinstance(call.func, ast.Attribute) and call.func.attr in methods:
                return True
            seen.add(call)
            if use.kind in CONVERSIONS:
                pending.append(call)
    return False


def _trains(loop: Loop) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in ast.walk(loop))


def _is_inside_a_step(loop: Loop, facts: Facts) -> bool:
    """Whether the loop as a whole runs in each step, so that what it reads is read piece by piece."""
    return facts.hotness(loop.iter if not isinstance(loop, ast.While) else loop) is Hotness.STEP


def _message(node: ast.expr, read: ast.expr, facts: Facts) -> str:
    what = f"`{short(node)}`" if node is not read else f"The {_kind(node, facts)} of `{short(node)}`"
    return (
        f"{what} makes the host wait {facts.why_hot(node)} for all the work queued on the GPU. "
        f"{_advice(node, read, facts)}"
    )


def _kind(node: ast.expr, facts: Facts) -> str:
    return "text" if _is_text(node, facts) else "test"


def _is_text(node: ast.expr, facts: Facts) -> bool:
    return isinstance(facts.parent(node), ast.FormattedValue)


def _advice(node: ast.expr, read: ast.expr, facts: Facts) -> str:
    value = short(read)
    if node is read and _is_text(node, facts):
        return "Print it every N steps, or collect it (`.detach()`) and print it after the loop."
    if node is read:
        return "Decide on the GPU with `torch.where`, or test every N steps."
    is_piece = any(_is_inside_a_step(loop, facts) for loop in loops_around(node, facts))
    if is_piece and _is_array_read(node):
        return "Copy all pieces with one `.cpu()`, before the loop or after it."
    if is_piece:
        return "Read the whole tensor with one `.tolist()` before the loop."
    if _is_array_read(node):
        return f"Keep `{value}` on the GPU and copy it once, after the loop."
    return f"Keep `{value}` as a tensor (`.detach()`) and read it every N steps or after the loop."
