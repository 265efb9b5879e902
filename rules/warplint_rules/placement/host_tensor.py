from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Related
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Signature, Verdict, wants
from warplint.static.values import Place
from warplint_rules._calls import with_keyword
from warplint_rules._text import short
from warplint_rules.placement._content import FACTORIES
from warplint_rules.placement._helper import MOVES, moved_from_helper
from warplint_rules.placement._host_made import HostMade, only_moves
from warplint_rules.placement._journey import Effect

if TYPE_CHECKING:
    import libcst as cst


class HostTensorInHotCode(HostMade):
    """A tensor is built on the CPU in code that runs every step, and then goes to the GPU or meets it there.

    ## Why is this slow?

    The copy comes from pageable memory, so the host waits for all work queued on the GPU before it goes on,
    every step: behind a busy GPU as long as the work that is queued. Measured on an H200 with torch 2.11 and
    an idle GPU: a range of 1,024 numbers takes about 1.4 times as long that way, 31 µs instead of 23; a
    million random numbers take 7.8 ms instead of 0.04, as one CPU core makes them first.

    Three cases look alike, and the message says which one it is. Moving the tensor **copies**. Combining a
    CPU tensor of one or more dimensions with a CUDA tensor **raises** an error, so such code has never run
    on a GPU. A CPU tensor without dimensions is **free**: its number goes to the kernel. Selecting with CPU
    indices has a rule of its own, WL102.

    A helper of the project, in this file or imported, that builds a tensor of sizes alone on the CPU is
    looked into where its result is moved: the finding is at the move.

    ## When it stays silent

    - in `__init__`, set-up, loading and data code, and in helpers that only those call;
    - when Python reads the result (`.tolist()`, `int()`, a condition) or fills it piece by piece: on the
      GPU, that would wait each time;
    - when the content is new data from the host, which has to be copied anyway;
    - for `*_like` and `new_*`, under a default device, in pinned memory, with a generator or `out=`;
    - for a CPU operand without dimensions;
    - in a program that trains a model of its own and names no device at all;
    - when a helper reads files, attributes or what the host holds, which has to be copied anyway;
    - when the engine cannot tell where the result goes.

    ## Fix safety

    The fix adds `device=` to the factory and drops a `.to()` that only moved. It is safe when the values
    are the same on every device (fills, integer ranges) and the result meets only tensors of that one
    device. It is unsafe for random factories (the GPU has another generator), for values computed in
    floating point (the last bit may differ) and when the device is taken from another tensor of the
    function. `torch.tensor(3.0)` becomes `torch.full((), 3.0, device=…)`, since `device=` alone would copy
    as well. There is none for `torch.tensor([…])`: make it once, as a buffer. Nor for
    `torch.FloatTensor(…)` and its kin, which take no CUDA device. A helper that takes a `device` is handed
    it, which is unsafe, as it may do more with it; give one that takes none such a parameter.

    ## Sources

    - PyTorch performance tuning guide, "Create tensors directly on the target device"
    - CUDA semantics, "Use pinned memory buffers": what copies from pageable memory wait for
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt` and
      `bench/results/h200/advice_gains.txt`
    """

    code = "WL101"
    name = "host-tensor-in-hot-code"
    effects = frozenset({Effect.COPIES, Effect.FETCHES, Effect.RAISES, Effect.LEAVES})
    wants = wants(calls=FACTORIES, methods=MOVES)
    proof = Signature(At.USES, Metric.PAGEABLE_COPY)
    risk = Risk.HIGH

    fires = (
        Example(
            "Position indices built on the CPU in `forward`: on a GPU, this raises at the embedding.",
            """\
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, vocabulary, length, width):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(length, width)

    def forward(self, ids):
        places = «torch.arange(ids.shape[1])»
        return self.token(ids) + self.position(places)
""",
            """\
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, vocabulary, length, width):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(length, width)

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.token(ids) + self.position(places)
""",
        ),
        Example(
            "An operand built on the CPU meets the input: this raises on a GPU.",
            """\
import torch
from torch import nn


class Ramp(nn.Module):
    def forward(self, x):
        ramp = «torch.arange(x.shape[-1])»
        return x * ramp
""",
            """\
import torch
from torch import nn


class Ramp(nn.Module):
    def forward(self, x):
        ramp = torch.arange(x.shape[-1], device=x.device)
        return x * ramp
""",
        ),
        Example(
            "Made on the CPU and moved at once: one copy and one wait a call.",
            """\
import torch
from torch import nn


class Rotary(nn.Module):
    def forward(self, x):
        steps = «torch.arange(x.shape[1]).to(x.device)»
        return x * steps[None, :, None]
""",
            """\
import torch
from torch import nn


class Rotary(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1], device=x.device)
        return x * steps[None, :, None]
""",
        ),
        Example(
            "A move that also casts stays, for the cast.",
            """\
import torch
from torch import nn


class Mask(nn.Module):
    def forward(self, x):
        keep = «torch.ones(
            x.shape[0],
            x.shape[1],
        ).type_as(x)»
        return x * keep
""",
            """\
import torch
from torch import nn


class Mask(nn.Module):
    def forward(self, x):
        keep = torch.ones(
            x.shape[0],
            x.shape[1],
            device=x.device,
        ).type_as(x)
        return x * keep
""",
        ),
        Example(
            "Labels filled on the CPU in the training loop of a script.",
            """\
import torch
from torch import nn

critic = nn.Linear(8, 1).cuda()
optimizer = torch.optim.Adam(critic.parameters())
loss_function = nn.BCEWithLogitsLoss()


def train(loader):
    for batch in loader:
        batch = batch.cuda()
        real = «torch.ones(batch.size(0), 1).cuda()»
        loss = loss_function(critic(batch), real)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
            """\
import torch
from torch import nn

critic = nn.Linear(8, 1).cuda()
optimizer = torch.optim.Adam(critic.parameters())
loss_function = nn.BCEWithLogitsLoss()


def train(loader):
    for batch in loader:
        batch = batch.cuda()
        real = torch.ones(batch.size(0), 1, device="cuda")
        loss = loss_function(critic(batch), real)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "Noise drawn on the CPU. The GPU draws other numbers, so the fix is unsafe.",
            """\
import torch
from torch import nn


class Noisy(nn.Module):
    def forward(self, x):
        noise = «torch.randn(x.shape).to(x.device)»
        return x + noise
""",
            """\
import torch
from torch import nn


class Noisy(nn.Module):
    def forward(self, x):
        noise = torch.randn(x.shape, device=x.device)
        return x + noise
""",
        ),
        Example(
            "A constant list copied on every call. `device=` would copy it as well: no fix.",
            """\
import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = [0.48, 0.46, 0.41]

    def forward(self, image):
        mean = «torch.tensor(self.mean)».view(1, 3, 1, 1)
        return image - mean.to(image.device)
""",
        ),
        Example(
            "Numbers written into a slice after it is made; the values stay the same on the GPU.",
            """\
import torch
from torch import nn


class Prefix(nn.Module):
    def forward(self, x):
        keep = «torch.ones(x.shape[1])»
        keep[:4] = 0
        return x * keep.to(x.device)[:, None]
""",
            """\
import torch
from torch import nn


class Prefix(nn.Module):
    def forward(self, x):
        keep = torch.ones(x.shape[1], device=x.device)
        keep[:4] = 0
        return x * keep.to(x.device)[:, None]
""",
        ),
        Example(
            "In a helper that is named like set-up, but that `forward` calls.",
            """\
import torch
from torch import nn


class Places(nn.Module):
    def forward(self, x):
        return x + self.make_places(x)

    def make_places(self, x):
        return «torch.arange(x.shape[-1]).to(x.device)»
""",
            """\
import torch
from torch import nn


class Places(nn.Module):
    def forward(self, x):
        return x + self.make_places(x)

    def make_places(self, x):
        return torch.arange(x.shape[-1], device=x.device)
""",
        ),
        Example(
            "A grid filled with ranges, then moved. No fix, as each of its factories needs the device.",
            """\
import torch
from torch import nn


class Grid(nn.Module):
    def forward(self, x, height, width):
        places = «torch.zeros(height, width, 2)»
        places[..., 0] = places[..., 0] + torch.arange(height)[:, None]
        places[..., 1] = places[..., 1] + torch.arange(width)[None, :]
        return x + places.to(x.device)
""",
        ),
        Example(
            "Computed with on the CPU and returned from there, whatever device the input is on.",
            """\
import torch
from torch import nn


class Angles(nn.Module):
    def forward(self, x):
        steps = «torch.arange(x.shape[1])»
        return torch.cos(steps / 100)
""",
            """\
import torch
from torch import nn


class Angles(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1], device=x.device)
        return torch.cos(steps / 100)
""",
        ),
        Example(
            "Written into a tensor on the GPU, which copies.",
            """\
import torch
from torch import nn


class Clear(nn.Module):
    def forward(self, x):
        x[:, 0] = «torch.zeros(x.shape[0])»
        return x
""",
            """\
import torch
from torch import nn


class Clear(nn.Module):
    def forward(self, x):
        x[:, 0] = torch.zeros(x.shape[0], device=x.device)
        return x
""",
        ),
        Example(
            "One number: `torch.tensor(…, device=…)` would copy it as well, `torch.full` fills it in.",
            """\
import torch
from torch import nn


class Ratio(nn.Module):
    def forward(self, x, y):
        lowest = «torch.tensor(1e-6).to(x.device)»
        return x / torch.maximum(y, lowest)
""",
            """\
import torch
from torch import nn


class Ratio(nn.Module):
    def forward(self, x, y):
        lowest = torch.full((), 1e-6, device=x.device)
        return x / torch.maximum(y, lowest)
""",
        ),
        Example(
            "A counter that starts at nought.",
            """\
import torch


def train(model, batches, optimizer):
    for batch in batches:
        tokens = «torch.tensor(0, dtype=torch.int).cuda()»
        loss = model(batch.cuda()).sum()
        loss.backward()
        optimizer.step()
        tokens += batch.numel()
""",
            """\
import torch


def train(model, batches, optimizer):
    for batch in batches:
        tokens = torch.full((), 0, dtype=torch.int, device="cuda")
        loss = model(batch.cuda()).sum()
        loss.backward()
        optimizer.step()
        tokens += batch.numel()
""",
        ),
        Example(
            "In a pipeline it is paid once an image, and as easily saved.",
            """\
import torch
from diffusers import DiffusionPipeline


class Painter(DiffusionPipeline):
    def prepare(self, prompt, device, dtype):
        return «torch.zeros(prompt.shape[1], 3).to(device=device, dtype=dtype)»

    def __call__(self, prompt, steps):
        ids = self.prepare(prompt, self.device, torch.bfloat16)
        for step in range(steps):
            ids = self.transformer(ids)
        return ids
""",
            """\
import torch
from diffusers import DiffusionPipeline


class Painter(DiffusionPipeline):
    def prepare(self, prompt, device, dtype):
        return torch.zeros(prompt.shape[1], 3, device=device).to(device=device, dtype=dtype)

    def __call__(self, prompt, steps):
        ids = self.prepare(prompt, self.device, torch.bfloat16)
        for step in range(steps):
            ids = self.transformer(ids)
        return ids
""",
        ),
        Example(
            "Moved only where there is a GPU. `device=` would need the condition as well, so there is none.",
            """\
import torch
from torch import nn


class Pad(nn.Module):
    def forward(self, mask):
        filler = «torch.zeros(mask.shape[0], 8)»
        if mask.is_cuda:
            filler = filler.cuda()
        return torch.cat([mask.float(), filler.float()], dim=1)
""",
        ),
        Example(
            "Returned beside a CPU tensor that stays one: moved alone, it could not be combined with it.",
            """\
import torch
from torch import nn


class Counts(nn.Module):
    def forward(self, x, expected):
        hits = «torch.zeros(4)»
        misses = torch.zeros(4)
        hits[0] = x.sum()
        misses[0] = self.missing(expected)
        return hits, misses
""",
        ),
        Example(
            "A legacy constructor takes no CUDA device, so there is no fix.",
            """\
import torch
from torch import nn


class Marks(nn.Module):
    def forward(self, ids):
        marks = «torch.LongTensor([[1, 0, 2]]).to(ids.device)»
        return torch.cat([marks.repeat(ids.size(0), 1), ids], dim=1)
""",
        ),
        Example(
            "Scaled by settings and by a helper, which only compute, before it meets part of the input.",
            """\
import torch
from torch import nn


def to_amplitude(decibels):
    return 10 ** (decibels / 20)


class AddNoise(nn.Module):
    def forward(self, batch_pair):
        wave, lengths = batch_pair
        ratio = «torch.rand(len(wave), 1)»
        ratio = ratio * (self.ratio_high - self.ratio_low) + self.ratio_low
        return wave * to_amplitude(ratio)
""",
            """\
import torch
from torch import nn


def to_amplitude(decibels):
    return 10 ** (decibels / 20)


class AddNoise(nn.Module):
    def forward(self, batch_pair):
        wave, lengths = batch_pair
        ratio = torch.rand(len(wave), 1, device=wave.device)
        ratio = ratio * (self.ratio_high - self.ratio_low) + self.ratio_low
        return wave * to_amplitude(ratio)
""",
        ),
        Example(
            "Computed with before it is moved: the fix is unsafe, since the last bit may differ on the GPU.",
            """\
import torch
from torch import nn


class Frequencies(nn.Module):
    def forward(self, t):
        powers = «torch.arange(0, 64, 2)» / 64
        scale = 10000**-powers
        return t[:, None] * scale.to(t.device)
""",
            """\
import torch
from torch import nn


class Frequencies(nn.Module):
    def forward(self, t):
        powers = torch.arange(0, 64, 2, device=t.device) / 64
        scale = 10000**-powers
        return t[:, None] * scale.to(t.device)
""",
        ),
        Example(
            "A mask that a helper builds on the CPU, and its caller moves.",
            """\
import torch
from torch import nn


def causal(length, device=None):
    return torch.ones(length, length, device=device).tril()


class Decoder(nn.Module):
    def square(self, size):
        return torch.triu(torch.ones(size, size), diagonal=1) == 1

    def forward(self, x):
        hidden = self.square(x.shape[1])
        hidden = «hidden.to(x.device)»
        return x.masked_fill(hidden, 0.0) * «causal(x.shape[1]).to(x.device)»
""",
            """\
import torch
from torch import nn


def causal(length, device=None):
    return torch.ones(length, length, device=device).tril()


class Decoder(nn.Module):
    def square(self, size):
        return torch.triu(torch.ones(size, size), diagonal=1) == 1

    def forward(self, x):
        hidden = self.square(x.shape[1])
        hidden = hidden.to(x.device)
        return x.masked_fill(hidden, 0.0) * causal(x.shape[1], device=x.device)
""",
        ),
    )

    quiet = (
        Example(
            "Helpers that bring data of the host, hold it, or build on the device that they are handed.",
            """\
import numpy as np
import torch
from torch import nn


def weights_of(words):
    return torch.tensor([len(word) for word in words])


def table_in(path):
    return torch.from_numpy(np.load(path))


def causal(length, device=None):
    return torch.ones(length, length, device=device).tril()


class Decoder(nn.Module):
    def rows(self, count):
        return torch.tensor(self.kept[:count])

    def forward(self, x, sentence: list[str], path: str):
        x = x * weights_of(sentence).to(x.device) + table_in("table.npy").to(x.device)
        return x * self.rows(x.shape[1]).to(x.device) * causal(x.shape[1], x.device).to(x.device)
""",
        ),
        Example(
            "A buffer made once, in `__init__` and in a helper that only `__init__` calls.",
            """\
import torch
from torch import nn


class Table(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("steps", torch.arange(width))
        self.register_buffer("scale", self.make_scale(width))

    @staticmethod
    def make_scale(width):
        return 1.0 / (1 + torch.arange(width)).to("cuda")

    def forward(self, x):
        return x * self.steps * self.scale
""",
        ),
        Example(
            "Used as a list of dimensions: on the GPU, `.tolist()` would wait.",
            """\
import torch
from torch import nn


class Mean(nn.Module):
    def forward(self, x):
        axes = torch.arange(1, x.dim()).tolist()
        return x.mean(axes)
""",
        ),
        Example(
            "Decides in Python whether a layer is skipped.",
            """\
import torch
from torch import nn


class Drop(nn.Module):
    def forward(self, x):
        if torch.rand([]) < 0.1:
            return x
        return x * 2
""",
        ),
        Example(
            "A CPU tensor without dimensions goes to the kernel as a number.",
            """\
import torch
from torch import nn


class Scale(nn.Module):
    def forward(self, x):
        return x * torch.tensor(0.5)
""",
        ),
        Example(
            "Built on the device already.",
            """\
import torch
from torch import nn


class Places(nn.Module):
    def forward(self, x):
        here = torch.arange(x.shape[1], device=x.device)
        like = torch.zeros_like(x)
        new = x.new_zeros(x.shape[1])
        return x + here + like + new
""",
        ),
        Example(
            "New data from the host has to be copied anyway.",
            """\
import torch
from torch import nn


class Lengths(nn.Module):
    def forward(self, x, sentences):
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        return x / lengths.to(x.device)[:, None]
""",
        ),
        Example(
            "Batches are put together on the CPU, in the loader's workers.",
            """\
import torch
from torch.utils.data import Dataset


class Words(Dataset):
    def __getitem__(self, index):
        ids = torch.zeros(16, dtype=torch.long)
        ids[: len(self.lines[index])] = torch.tensor(self.lines[index])
        return ids
""",
        ),
        Example(
            "Under a default device, factories build on the GPU.",
            """\
import torch
from torch import nn

torch.set_default_device("cuda")


class Ramp(nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[-1])
""",
        ),
        Example(
            "Page-locked memory and a copy in the background: the host does not wait.",
            """\
import torch
from torch import nn


class Staged(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1], pin_memory=True).to(x.device, non_blocking=True)
        return x * steps
""",
        ),
        Example(
            "Filled piece by piece from the host: on the GPU, each piece would be a copy of its own.",
            """\
import torch
from torch import nn


class Boxes(nn.Module):
    def forward(self, features, boxes):
        padded = torch.zeros(len(boxes), 4)
        for row, box in enumerate(boxes):
            padded[row] = torch.tensor([side / 2 for side in box])
        return features * padded.to(features.device)
""",
        ),
        Example(
            "Counted up on the host before it is moved.",
            """\
import torch


def train(model, optimizer, groups):
    for group in groups:
        total = torch.zeros(1)
        for labels in group:
            total += (labels != 0).sum()
        loss = model(group).sum() / total.to("cuda")
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "Something to hand over where there is nothing.",
            """\
import torch
from torch import nn


class Memory(nn.Module):
    def forward(self, x, memory=None):
        if memory is None:
            memory = torch.empty(0)
        nothing = torch.tensor([]).to(x.device)
        return torch.cat([memory, x, nothing])
""",
        ),
        Example(
            "Handed to functions that look at it, or that build CPU tensors beside it.",
            """\
import torch
from torch import nn


def bounded(ratio):
    return ratio if ratio.max() < 1 else ratio / ratio.max()


def shifted(ratio):
    return ratio + torch.ones(4)


class AddNoise(nn.Module):
    def forward(self, x):
        one = torch.rand(4)
        other = torch.rand(4)
        return x * bounded(one), x * shifted(other)
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
        return self.layer(x) + torch.arange(x.shape[0])[:, None]


def train(model, optimizer, data):
    total = 0.0
    for x, y in data:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(y.numel())
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
            "Stays on the CPU from start to end.",
            """\
import torch
from torch import nn


class Plan(nn.Module):
    def forward(self, x):
        sizes = torch.arange(4) + torch.ones(4, dtype=torch.long)
        self.log(sizes)
        return x
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call), "the rule wants calls"
        if facts.qualified(node.func) in FACTORIES:
            return super().check(node, facts)
        moved = moved_from_helper(node, facts)
        if moved is None:
            return None
        helper = ast.unparse(moved.made.func)
        remedy = f"Hand `{helper}` a device, and pass it on to its factories."
        if moved.device is not None:
            remedy = f"Pass it `device={moved.device}`."
        return Verdict(
            node,
            f"`{helper}` builds this tensor on the CPU; `{short(node)}` copies it to the GPU each time "
            f"{facts.why_hot(node)}, and the host waits for that. {remedy}",
            Confidence.CERTAIN if facts.value(node).place is Place.ACCELERATOR else Confidence.LIKELY,
            Applicability.NONE if moved.device is None else Applicability.UNSAFE,
            "" if moved.device is None else f"Build it on {moved.device}",
            () if _is_within(moved.made, node) else (Related(facts.span(moved.made), "built here"),),
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(site, ast.Call), "the rule wants calls"
        moved = moved_from_helper(site, facts)
        if moved is None:
            return super().fix(node, site, facts)
        if moved.device is None or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        made = node.func.value
        assert isinstance(made, cst.Call), "the helper is called where its result is moved"
        made = with_keyword(made, "device", cst.parse_expression(moved.device))
        if only_moves(site, facts) and "#" not in cst.Module([]).code_for_node(node):
            return Rewrite(made)
        return Rewrite(node.with_changes(func=node.func.with_changes(value=made)))


def _is_within(inner: ast.expr, outer: ast.expr) -> bool:
    return any(node is inner for node in ast.walk(outer))
