from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Severity
from warplint.static.parsing.tree import FunctionNode, below, dotted, last_name
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules._tests import is_among_tests

if TYPE_CHECKING:
    import libcst as cst

CONVOLUTIONS = {
    "torch.nn.Conv1d", "torch.nn.Conv2d", "torch.nn.Conv3d",
    "torch.nn.ConvTranspose1d", "torch.nn.ConvTranspose2d", "torch.nn.ConvTranspose3d",
}  # fmt: skip
NORMS = {"torch.nn.BatchNorm1d", "torch.nn.BatchNorm2d", "torch.nn.BatchNorm3d", "torch.nn.SyncBatchNorm"}
"""What takes the mean of each channel away, and with it any bias."""
BEFORE_BIAS = 7
"""Parameters of a convolution that may be given by position before ``bias``; one less with a transposed one,
where the eighth is ``bias`` too."""
RELEASED = ("from_pretrained", "hf_hub_download", "load_state_dict_from_url", "load_url", "post_init")
"""Calls of files whose models load weights that someone has published."""
TOUCHED = r"\.bias\b"
"""Found where weights are set: a bias that is left out is `None` there."""


class ConvolutionBiasBeforeNorm(Rule):
    """A convolution has a bias that the batch normalisation behind it takes away again.

    ## Why is this slow?

    Batch normalisation subtracts the mean of each channel, and the bias with it: it changes no output of a
    model in training. Still it is added in each forward pass, its gradient is a sum over all positions of the
    batch in each backward pass, and the optimizer updates it. `bias=False` saves that. Measured on an H200
    with torch 2.11: a training step of eight blocks of convolution and normalisation took 7.6 ms with the
    bias and 6.9 ms without. In larger models expect some percent at most.

    ## When it stays silent

    - when something else stands between the two, or may, or when the order in `forward` is another;
    - when the bias, or what comes behind, is a matter of an argument;
    - in files whose models load published weights: the bias is part of them;
    - for instance, group and layer normalisation;
    - in tests.

    ## Fix safety

    Unsafe: saved weights of the model have the bias, and no longer fit (`load_state_dict(strict=False)` takes
    them, and in evaluation the running mean then misses the bias). Draws of random numbers at construction
    change. No fix is offered where the file touches a `.bias` itself, as functions do that set weights.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    - PyTorch performance tuning guide, "Disable bias for convolutions directly followed by a batch norm"
    """

    code = "WL511"
    name = "conv-bias-before-norm"
    wants = wants(calls=CONVOLUTIONS)
    proof = Signature(At.USES, Metric.NONE)
    risk = Risk.LOW
    severity = Severity.INFO

    fires = (
        Example(
            "Neighbours in a sequence.",
            """\
from torch import nn

block = nn.Sequential(
    «nn.Conv2d(3, 64, kernel_size=3, padding=1)»,
    nn.BatchNorm2d(64),
    nn.ReLU(),
    «nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=True)»,
    nn.BatchNorm2d(3),
)
""",
            """\
from torch import nn

block = nn.Sequential(
    nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(64),
    nn.ReLU(),
    nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False),
    nn.BatchNorm2d(3),
)
""",
        ),
        Example(
            "Neighbours in a list that becomes a sequence.",
            """\
from torch import nn


def layers(widths):
    made = []
    for before, width in zip(widths, widths[1:]):
        made += [«nn.Conv2d(before, width, 3)», nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*made)
""",
            """\
from torch import nn


def layers(widths):
    made = []
    for before, width in zip(widths, widths[1:]):
        made += [nn.Conv2d(before, width, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*made)
""",
        ),
        Example(
            "A function of the file sets the bias, which must not be missing then: no fix.",
            """\
from torch import nn


def start(module):
    if isinstance(module, nn.Conv2d):
        nn.init.zeros_(module.bias)


def stem(width):
    layers = nn.Sequential(«nn.Conv2d(3, width, 3)», nn.BatchNorm2d(width))
    return layers.apply(start)
""",
        ),
        Example(
            "One after the other in `forward`.",
            """\
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = «nn.Conv2d(width, width, 3)»
        self.first_norm = nn.BatchNorm2d(width)
        self.second = «nn.Conv2d(width, width, 3)»
        self.second_norm = nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        y = self.second(y)
        y = F.relu(self.second_norm(y))
        return y + x
""",
            """\
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, bias=False)
        self.first_norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, bias=False)
        self.second_norm = nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        y = self.second(y)
        y = F.relu(self.second_norm(y))
        return y + x
""",
        ),
    )

    quiet = (
        Example(
            "Off, left to an argument, or with something between.",
            """\
from torch import nn


def block(width, biased, norm):
    return nn.Sequential(
        nn.Conv2d(width, width, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.Conv2d(width, width, 3, bias=biased),
        nn.BatchNorm2d(width),
        nn.Conv2d(width, width, 3),
        nn.ReLU(),
        nn.BatchNorm2d(width),
        nn.Conv2d(width, width, 3),
        norm(width),
        nn.Conv2d(width, width, 3),
        nn.GroupNorm(8, width),
    )
""",
        ),
        Example(
            "Beside each other in the constructor, but not in `forward`.",
            """\
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3)
        self.norm = nn.BatchNorm2d(width)
        self.head = nn.Conv2d(width, 2, 1)
        self.other = nn.Conv2d(width, width, 3)

    def forward(self, x):
        x = self.conv(self.norm(x))
        y = self.other(x)
        return self.norm(y), y, self.head(x)
""",
        ),
        Example(
            "Weights that someone has published have the bias.",
            """\
from torch import nn
from torch.hub import load_state_dict_from_url


def net(url):
    model = nn.Sequential(nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64))
    model.load_state_dict(load_state_dict_from_url(url))
    return model
""",
        ),
        Example(
            "A list of layers that is no sequence.",
            """\
from torch import nn


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)])
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not _has_bias(node) or facts.calls_any(RELEASED) or is_among_tests(facts):
            return None
        norm = _next_in_sequence(node, facts) or _next_in_forward(node, facts)
        if norm is None:
            return None
        return Verdict(
            node,
            f"The bias of this convolution is taken away again by the `{norm}` behind it. Pass `bias=False`: "
            "it saves a sum over the gradients in each backward pass.",
            Confidence.CERTAIN,
            Applicability.NONE if facts.mentions(TOUCHED) else Applicability.UNSAFE,
            "Leave the bias out",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        if not isinstance(node, cst.Call):
            return None
        return Rewrite(with_keyword(node, "bias", cst.Name("False")))


def _has_bias(call: ast.Call) -> bool:
    given = keyword(call, "bias")
    is_on = given is None or (isinstance(given, ast.Constant) and given.value is True)
    return is_on and len(call.args) <= BEFORE_BIAS and not has_unpacking(call)


def _norm(node: ast.AST | None, facts: Facts) -> str | None:
    """The last name of the batch normalisation that an expression makes."""
    if not isinstance(node, ast.Call):
        return None
    name = facts.qualified(node.func)
    return name.rpartition(".")[2] if name in NORMS else None


def _next_in_sequence(call: ast.Call, facts: Facts) -> str | None:
    """The normalisation behind a convolution in ``nn.Sequential``, or in a list of layers for it."""
    around = facts.parent(call)
    if isinstance(around, ast.Call) and facts.qualified(around.func) == "torch.nn.Sequential":
        return _norm(_behind(call, around.args), facts)
    if isinstance(around, ast.List | ast.Tuple) and _becomes_sequence(around, facts):
        return _norm(_behind(call, around.elts), facts)
    return None


def _behind(node: ast.expr, row: list[ast.expr]) -> ast.expr | None:
    following = row[row.index(node) + 1 :] if node in row else []
    return following[0] if following else None


def _becomes_sequence(display: ast.expr, facts: Facts) -> bool:
    """Whether a list of layers is unpacked into ``nn.Sequential``, at once or later in the function."""
    outer = facts.parent(display)
    if isinstance(outer, ast.Starred):
        call = facts.parent(outer)
        return isinstance(call, ast.Call) and facts.qualified(call.func) == "torch.nn.Sequential"
    function = facts.function(display)
    if function is None or not isinstance(outer, ast.Assign | ast.AugAssign | ast.Call | ast.BinOp):
        return False
    return any(
        isinstance(part, ast.Call)
        and last_name(part.func) == "Sequential"
        and any(isinstance(argument, ast.Starred) for argument in part.args)
        for part in below(function.node)
    )


def _next_in_forward(call: ast.Call, facts: Facts) -> str | None:
    """The normalisation that each use of a convolution's attribute hands its result to, and only to it."""
    statement = facts.parent(call)
    owner = _class_around(call, facts)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or owner is None:
        return None
    name = dotted(statement.targets[0])
    if name is None or name.count(".") != 1 or not isinstance(statement.targets[0], ast.Attribute):
        return None
    attributes = _attributes(owner)
    found: set[str] = set()
    for use in attributes.read.get(name, ()):
        norm = _norm_behind(use, attributes, facts)
        if norm is None:
            return None
        found.add(norm)
    return found.pop() if len(found) == 1 else None


def _class_around(node: ast.AST, facts: Facts) -> ast.ClassDef | None:
    current: ast.AST | None = node
    while current is not None and not isinstance(current, ast.ClassDef):
        current = facts.parent(current)
    return current


class _Attributes(NamedTuple):
    """Of a class, by names such as ``self.norm``."""

    read: dict[str, list[ast.Attribute]]
    made: dict[str, list[ast.expr]]
    """What is assigned to each."""

    def norm(self, function: ast.expr, facts: Facts) -> str | None:
        """The kind of an attribute that is a batch normalisation, and nothing else at times."""
        kinds = {_norm(value, facts) for value in self.made.get(dotted(function) or "", ())}
        return kinds.pop() if len(kinds) == 1 else None


@lru_cache(maxsize=1)
def _attributes(owner: ast.ClassDef) -> _Attributes:
    """A class is read once for all its convolutions, which are asked about one after the other."""
    found = _Attributes(defaultdict(list), defaultdict(list))
    for part in below(owner):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
            found.read[dotted(part) or ""].append(part)
        elif isinstance(part, ast.Assign):
            for target in part.targets:
                if isinstance(target, ast.Attribute):
                    found.made[dotted(target) or ""].append(part.value)
    return found


def _norm_behind(use: ast.Attribute, attributes: _Attributes, facts: Facts) -> str | None:
    call = facts.parent(use)
    if not isinstance(call, ast.Call) or call.func is not use:
        return None
    outer = facts.parent(call)
    if isinstance(outer, ast.Call) and call in outer.args:
        return attributes.norm(outer.func, facts)
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Name):
        return _norm_of_name(outer, outer.targets[0].id, attributes, facts)
    return None


def _norm_of_name(statement: ast.Assign, name: str, attributes: _Attributes, facts: Facts) -> str | None:
    """The normalisation that the next statement hands a name to, where nothing after it reads that value."""
    following = _statements_behind(statement, facts)
    if not following:
        return None
    first = following[0]
    reads = list(_reads(first, name))
    if len(reads) != 1 or not isinstance(first, ast.Assign):
        return None
    call = facts.parent(reads[0])
    norm = attributes.norm(call.func, facts) if isinstance(call, ast.Call) else None
    if norm is None or any(isinstance(target, ast.Name) and target.id == name for target in first.targets):
        return norm
    read_later = any(True for later in following[1:] for _ in _reads(later, name))
    return None if read_later else norm


def _statements_behind(statement: ast.stmt, facts: Facts) -> list[ast.stmt]:
    around = facts.parent(statement)
    body = getattr(around, "body", [])
    if not isinstance(around, FunctionNode | ast.If | ast.For | ast.With) or statement not in body:
        return []
    rest: list[ast.stmt] = body[body.index(statement) + 1 :]
    return rest


def _reads(node: ast.AST, name: str) -> Iterator[ast.Name]:
    for part in below(node):
        if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load):
            yield part
