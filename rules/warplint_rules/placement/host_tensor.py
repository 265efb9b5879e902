from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warplint.static.facts import Facts, Role, UseKind
from warplint.static.finding import Applicability, Confidence, Hotness, Related
from warplint.static.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.values import Place
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules.placement._content import (
    FACTORIES,
    FROM_PYTHON,
    Content,
    content_of,
    is_empty,
    unchanging,
)
from warplint_rules.placement._device import CUDA, bound_at, device_of, is_conditional, is_named
from warplint_rules.placement._journey import Effect, Journey, Meeting, journey

if TYPE_CHECKING:
    import libcst as cst

QUIET_ROLES = {Role.SETUP, Role.DATA}
DELIBERATE = ("generator", "out", "pin_memory")
"""Arguments that say the author chose the CPU, or has the tensor already."""

UNLESS_A_NUMBER = {Effect.RAISES, Effect.LEAVES}
WHAT = {
    Effect.COPIES: "`{made}` builds this tensor on the CPU; it is copied to the GPU each time {where}, and "
    "the host waits for that",
    Effect.INDEXES: "`{made}` builds indices on the CPU; they are copied each time they select from a GPU "
    "tensor {where}, and the host waits for that",
    Effect.FETCHES: "`{made}` builds this tensor on the CPU; what is written into it {where} is copied from "
    "the GPU, and the host waits for each copy",
    Effect.RAISES: "`{made}` builds a CPU tensor that is combined with a GPU tensor {where}: on a GPU this "
    "raises",
    Effect.LEAVES: "`{made}` builds a CPU tensor {where}, which computes with it and returns it on the CPU; "
    "it is copied to the GPU each time it is used there",
}
MEASURED = "a small range takes 14 µs instead of 7 µs on an H200, besides the wait"


class HostTensorInHotCode(Rule):
    """A tensor is built on the CPU in code that runs every step, and then goes to the GPU or meets it there.

    ## Why is this slow?

    The copy comes from pageable memory, so the host waits for all work queued on the GPU before it goes on,
    every step. Measured on an H200 with torch 2.11: `torch.arange(n).to(device)` takes 14.4 µs with an idle
    GPU, and `torch.arange(n, device=device)` 7.2 µs without any wait; for a million random numbers 3.6 ms
    against 10 µs. Behind a busy GPU the wait is as long as the work that is queued.

    Three cases look alike, and the message says which one it is. Moving the tensor, or indexing a CUDA
    tensor with it, **copies**. Combining a CPU tensor of one or more dimensions with a CUDA tensor
    **raises** an error, so such code has never run on a GPU. A CPU tensor without dimensions is **free**:
    its number goes to the kernel.

    ## When it stays silent

    - in `__init__`, set-up, loading and data code, and in helpers that only those call;
    - when Python reads the result (`.tolist()`, `int()`, a condition) or fills it piece by piece: on the
      GPU, that would wait each time;
    - when the content is new data from the host, which has to be copied anyway;
    - for `*_like` and `new_*`, under a default device, in pinned memory, with a generator or `out=`;
    - for a CPU operand without dimensions, and a boolean CPU mask as an index (no wait since torch 2.9);
    - when the engine cannot tell where the result goes.

    ## Fix safety

    The fix adds `device=` to the factory and drops a `.to()` that only moved. It is safe when the values
    are the same on every device (fills, integer ranges) and the result meets only tensors of that one
    device. It is unsafe for random factories (the GPU has another generator), for values computed in
    floating point (the last bit may differ) and when the device is taken from another tensor of the
    function. `torch.tensor(3.0)` becomes `torch.full((), 3.0, device=…)`, since `device=` alone would copy
    as well. There is none for `torch.tensor([…])`: make it once, as a buffer. Nor for
    `torch.FloatTensor(…)` and its kin, which take no CUDA device.

    ## Sources

    - PyTorch performance tuning guide, "Create tensors directly on the target device"
    - CUDA semantics, "Use pinned memory buffers": what copies from pageable memory wait for
    - measured on an H200, torch 2.11: which calls make the host wait
    """

    code = "WL101"
    name = "host-tensor-in-hot-code"
    wants = wants(calls=FACTORIES)
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
            "CPU indices into a tensor on the GPU are copied each time.",
            """\
import torch
from torch import nn


class Shuffle(nn.Module):
    def forward(self, x):
        order = «torch.randperm(x.shape[0])»
        return x[order]
""",
            """\
import torch
from torch import nn


class Shuffle(nn.Module):
    def forward(self, x):
        order = torch.randperm(x.shape[0], device=x.device)
        return x[order]
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
    )

    quiet = (
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
            "The result of a solver on the CPU has to be copied anyway.",
            """\
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn


class Matcher(nn.Module):
    def forward(self, cost):
        rows, columns = linear_sum_assignment(cost.cpu())
        return cost[torch.as_tensor(rows), torch.as_tensor(columns)]
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
            "A boolean mask on the CPU selects from a CUDA tensor without a wait.",
            """\
import torch
from torch import nn


class Every(nn.Module):
    def forward(self, x):
        keep = torch.ones(x.shape[0], dtype=torch.bool)
        return x[keep]
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
        case = _case(node, facts)
        if case is None:
            return None
        title = "" if case.device is None else f"Build it on {case.device}"
        related = () if case.site is not node else tuple(_related(case, facts))
        return Verdict(
            case.site, _message(case, facts), _confidence(case), case.applicability, title, related
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        case = _case(_factory(site), facts)
        if case is None or case.device is None or not isinstance(node, cst.Call):
            return None
        if site is case.made:
            return Rewrite(_built_there(node, case))
        move = node.func
        assert isinstance(move, cst.Attribute) and isinstance(move.value, cst.Call), "a move of the factory"
        made = _built_there(move.value, case)
        if _only_moves(site, facts) and "#" not in cst.Module([]).code_for_node(node):
            return Rewrite(made)
        return Rewrite(node.with_changes(func=move.with_changes(value=made)))


def _built_there(made: cst.Call, case: Case) -> cst.Call:
    """The factory call with its device; a number is filled in, which copies nothing."""
    import libcst as cst

    assert case.device is not None, "a fix knows the device"
    if case.content is Content.NUMBER:
        assert isinstance(made.func, cst.Attribute), "a number is only fixed in torch.tensor"
        shape = cst.Arg(cst.Tuple([]), comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        made = made.with_changes(func=made.func.with_changes(attr=cst.Name("full")), args=[shape, *made.args])
    return with_keyword(made, "device", cst.parse_expression(case.device))


@dataclass(frozen=True, slots=True)
class Case:
    """A factory call that is a finding. ``device`` is the expression to build on, where a fix may add it."""

    made: ast.Call
    content: Content
    meeting: Meeting
    site: ast.expr
    device: str | None
    applicability: Applicability


def _case(made: ast.Call, facts: Facts) -> Case | None:
    function = facts.function(made)
    if facts.hotness(made) is not Hotness.STEP or (function is not None and function.role in QUIET_ROLES):
        return None
    if _is_deliberate(made) or not facts.value(made).on_cpu:
        return None
    content = content_of(made, facts)
    if is_empty(made, content):
        return None
    if content in FROM_PYTHON and not (made.args and all(unchanging(data, facts) for data in made.args)):
        return None
    travelled = journey(made, facts)
    meeting = next((met for met in travelled.meetings if _is_reported(met, made, content, facts)), None)
    if travelled.host or meeting is None:
        return None
    site = _site(made, meeting)
    device, applicability = _fix(made, content, site, travelled, facts)
    return Case(made, content, meeting, site, device, applicability)


def _is_reported(meeting: Meeting, made: ast.Call, content: Content, facts: Facts) -> bool:
    """Data handed over as one value may be a number, whose tensor has no dimensions and is free."""
    has_dimensions = content not in FROM_PYTHON or bool(facts.value(made).ndim)
    return meeting.effect not in UNLESS_A_NUMBER or has_dimensions


def _is_deliberate(made: ast.Call) -> bool:
    return has_unpacking(made) or any(keyword(made, name) is not None for name in DELIBERATE)


def _site(made: ast.Call, meeting: Meeting) -> ast.expr:
    """The move itself where it is called on the factory, else the factory."""
    move = meeting.use.node
    if meeting.use.kind is UseKind.MOVED and isinstance(move, ast.Call) and _receiver(move) is made:
        return move
    return made


def _factory(site: ast.expr) -> ast.Call:
    """The factory call of a site, which is itself or what the move at the site is called on."""
    assert isinstance(site, ast.Call), "a site is a factory or a move of one"
    receiver = _receiver(site)
    return receiver if isinstance(receiver, ast.Call) else site


def _receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _fix(
    made: ast.Call, content: Content, site: ast.expr, travelled: Journey, facts: Facts
) -> tuple[str | None, Applicability]:
    """The device to build on, and how safe that is; (None, NONE) where no fix is right."""
    none = (None, Applicability.NONE)
    devices = {device_of(meeting.use, made, facts) for meeting in travelled.meetings}
    device = devices.pop()
    if content in FROM_PYTHON or device is None or keyword(made, "device") is not None:
        return none
    if content is Content.NUMBER and not isinstance(made.func, ast.Attribute):
        return none
    is_exact = content is Content.EXACT or (
        content is Content.NUMBER and isinstance(made.args[0], ast.Constant)
    )
    if site is not made:
        return device, Applicability.SAFE if is_exact else Applicability.UNSAFE
    if devices or travelled.meets_cpu or not bound_at(device, made, facts):
        return none
    if device == CUDA and any(is_conditional(meeting.use, made, facts) for meeting in travelled.meetings):
        return none
    safe = (
        is_exact
        and not travelled.escapes
        and all(meeting.unchanged and is_named(meeting.use) for meeting in travelled.meetings)
    )
    return device, Applicability.SAFE if safe else Applicability.UNSAFE


def _only_moves(move: ast.expr, facts: Facts) -> bool:
    """Whether a move does nothing but move: it has a device and no element type or layout."""
    assert isinstance(move, ast.Call) and isinstance(move.func, ast.Attribute), "a move is a method call"
    given = {"device", *(word.arg for word in move.keywords)} - {"non_blocking"}
    targets = [*move.args, *(word.value for word in move.keywords if word.arg == "device")]
    if move.func.attr == "type_as" or given != {"device"} or len(targets) > 1:
        return False
    return all(not facts.value(target).is_tensor for target in targets)


def _confidence(case: Case) -> Confidence:
    other = case.meeting.use.other
    proven = other is not None and other.place is Place.ACCELERATOR
    return Confidence.CERTAIN if proven else Confidence.LIKELY


def _message(case: Case, facts: Facts) -> str:
    what = WHAT[case.meeting.effect].format(made=ast.unparse(case.made.func), where=facts.why_hot(case.made))
    measured = "" if case.meeting.effect is Effect.RAISES else f" ({MEASURED})"
    return f"{what}{measured}. {_advice(case, facts)}"


def _advice(case: Case, facts: Facts) -> str:
    if case.content in FROM_PYTHON:
        function = facts.function(case.made)
        is_module = function is not None and function.class_role == "module"
        place = "as a buffer in `__init__`" if is_module else "on the GPU, before the loop"
        return f"Its content never changes: make it once, {place}."
    device = f"device={case.device}" if case.device is not None else "device="
    if case.content is Content.NUMBER:
        return f"Fill it in on the GPU: `torch.full((), …, {device})`."
    numbers = "; the GPU draws other numbers" if case.content is Content.RANDOM else ""
    return f"Pass `{device}` to `{ast.unparse(case.made.func)}`{numbers}."


def _related(case: Case, facts: Facts) -> list[Related]:
    node = case.meeting.use.node
    text = "moved to the GPU here" if case.meeting.use.kind is UseKind.MOVED else "meets a GPU tensor here"
    return [Related(facts.span(node), text)] if isinstance(node, ast.expr) else []
