from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.inference.arguments import is_off
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.words import words
from warplint_rules._roles import QUIET_ROLES

FEW = 4
"""Rounds that cost less than rewriting them is worth."""
ON_PURPOSE = Pattern("loop|chunk|naive|reference|sequential|slow")
"""Parts of the names of functions that go row by row on purpose, to save memory or to compare with."""
ARITHMETIC = words(
    """
    abs all amax amin any bool ceil clamp clone cos detach dot eq exp expand expand_as flatten float floor
    ge gt half int le log logical_and logical_not logical_or long lt matmul max maximum mean min minimum mul
    mv ne neg norm ones_like pow prod reshape round rsqrt sigmoid sign sin size softmax sqrt squeeze sub sum
    t tanh to transpose type type_as unsqueeze view where zeros_like
    """
)
"""Functions and methods that do for all rows what they do for one."""


class LoopOverRows(Rule):
    """A tensor is filled row by row in Python, where one expression computes all rows.

    ## Why is this slow?

    Each round queues its own small kernels: an index, the arithmetic, a copy. The GPU is done with them long
    before Python has queued the next ones, so the time is that of Python, some 10 µs an operation, times the
    rows. One expression over the whole dimension takes a handful of kernels whatever the number of rows.
    Measured on an H200 with torch 2.11: 256 rows take about 10 ms in a loop and 0.04 ms at once. Reported
    elsewhere: 8 to 10% of a training step for adding an offset to each row.

    ## When it stays silent

    - where a row needs another row of the same tensor: that is a recurrence;
    - where a round does more than arithmetic on rows: calls of modules and functions, conditions, appending;
    - for few rounds (`range(3)`), rows of different lengths other than masks, and lists;
    - for CPU tensors outside modules, and in functions named for it (`…_loop`, `…_chunked`);
    - outside code that runs every step.

    ## Fix safety

    There is no automatic fix. What is written for one row with `i` becomes a broadcast over
    `torch.arange(n, device=…)`: an offset `x[:, i] += i * c` becomes `x += c * arange`; a mask
    `m[i, :length[i]] = 1` becomes `m = arange(width) < length[:, None]`; a count `n[i] = (x == i).sum()`
    becomes `(x == arange[:, None]).sum(1)`; a blend becomes one with a ramp of weights.

    ## Sources

    - facebookresearch/fairseq#2683: offsets added row by row, 8 to 10% of the training speed
    - the pattern "ForLoopIndexing" of `torch.profiler`
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL811"
    name = "loop-over-rows"
    wants = wants(builtins={"range", "enumerate"})
    proof = Signature(At.LINE, Metric.KERNELS)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Offsets, counts, masks and blends.",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, lengths, high):
        offsets = torch.zeros_like(x)
        for i in «range(1, x.shape[0])»:
            offsets[i] += i * high
        counts = x.new_zeros(x.shape[0])
        for k in «range(x.shape[0])»:
            counts[k] = (x[:, 0] == k).sum()
        mask = torch.zeros(x.shape, device=x.device)
        for i, length in «enumerate(lengths)»:
            mask[i, :length] = 1
        for k in «range(self.overlap)»:
            y[:, :, k] = x[:, :, k - self.overlap] * (1 - k / self.overlap) + y[:, :, k] * (k / self.overlap)
        drawn = torch.randint(0, high, (8, 16))
        for i in «range(1, len(drawn))»:
            drawn[i] += i * high
        return offsets, counts, mask, y, drawn
""",
        ),
    )

    quiet = (
        Example(
            "Recurrences, and rounds that do more.",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        for i in range(1, x.shape[0]):
            x[i] = x[i - 1] * 0.9 + y[i]
        state = x[0]
        for i in range(x.shape[0]):
            state = state * 0.9 + y[i]
            x[i] = state
        left = right = x[0]
        for i in range(x.shape[0]):
            left = right + y[i]
            right = left * 2
            x[i] = right
        for i in range(x.shape[0]):
            y[i] = self.layers[i](x[i])
        for i in range(x.shape[0]):
            if self.training:
                y[i] = x[i]
        for i in range(x.shape[0]):
            y[i] = x[self.labels == i].mean(0)
        return x, y
""",
        ),
        Example(
            "Few rounds, ragged rows and lists in a module, and CPU tensors elsewhere.",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, parts, sizes):
        for i in range(3):
            x[i] = x[i] * self.scale[i]
        padded = torch.zeros_like(x)
        for i, part in enumerate(parts):
            padded[i, : len(part)] = part
        scaled = list(parts)
        for i in range(len(parts)):
            scaled[i] = parts[i] * 2
        return padded, scaled


def train(model, loader, optimizer):
    for images in loader:
        table = torch.zeros(8, 8, device="cpu")
        for i in range(table.shape[0]):
            table[i] = i * 2
        model(images, table).mean().backward()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        # Most of these calls are no loops worth a look, so what is cheap to know is asked first.
        if facts.hotness(node) is not Hotness.STEP or _has_few_rounds(node) or _is_apart(node, facts):
            return None
        loop = facts.parent(node)
        if not isinstance(loop, ast.For) or loop.iter is not node or loop.orelse:
            return None
        rows = _Rows.of(loop)
        if rows is None or not all(map(rows.takes, loop.body)) or not rows.are_independent():
            return None
        if not all(_is_hot_tensor(held, facts) for held in rows.written):
            return None
        name = ast.unparse(rows.written[0])
        return Verdict(
            node,
            f"This loop fills `{name}` row by row {facts.why_hot(node)}, each with kernels of its own. "
            "Compute all rows in one expression that broadcasts over them.",
            Confidence.LIKELY,
        )


class _Rows:
    """What a loop over rows may hold. ``written`` are the tensors whose rows it fills."""

    def __init__(self, index: str, items: bool) -> None:
        self.written: list[ast.expr] = []
        self._index = index
        self._items = items
        self._own: set[str] = {index}
        self._read: set[str] = set()
        self._values: list[ast.expr] = []
        self._filled: list[tuple[str, str]] = []

    @staticmethod
    def of(loop: ast.For) -> _Rows | None:
        target = loop.target
        if isinstance(target, ast.Name):
            return _Rows(target.id, items=False)
        if isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
            rows = _Rows(target.elts[0].id, items=True)
            rows._own |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
            return rows
        return None

    def takes(self, statement: ast.stmt) -> bool:
        """Whether a statement is arithmetic on a row."""
        if isinstance(statement, ast.AugAssign):
            target: ast.expr = statement.target
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        else:
            return False
        if not self._is_arithmetic(statement.value):
            return False
        self._values.append(statement.value)
        self._read |= {
            part.id for part in ast.walk(statement.value) if isinstance(part, ast.Name)
        } - self._own
        if isinstance(target, ast.Name):
            # What is read before it is bound was left by the round before.
            if isinstance(statement, ast.AugAssign) or target.id in self._read:
                return False
            self._own.add(target.id)
            return True
        return isinstance(target, ast.Subscript) and self._fills_row(target, statement.value)

    def _fills_row(self, target: ast.Subscript, value: ast.expr) -> bool:
        if not isinstance(target.value, ast.Name | ast.Attribute) or not self._is_row(target.slice, value):
            return False
        self.written.append(target.value)
        self._filled.append((ast.unparse(target.value), ast.unparse(target.slice)))
        return True

    def are_independent(self) -> bool:
        """Whether rows are filled, and no other row of a filled tensor is read."""
        return bool(self._filled) and all(
            isinstance(part, ast.Subscript) and ast.unparse(part.slice) == row
            for held, row in self._filled
            for value in self._values
            for part in _holders(value, held)
        )

    def _is_row(self, index: ast.expr, value: ast.expr) -> bool:
        """One position is the loop's own, the others the same in each round; of a mask one may end early."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        others = [part for part in parts if not isinstance(part, ast.Name) or part.id != self._index]
        if len(others) != len(parts) - 1:
            return False
        changing = [part for part in others if any(self._reads(name, part) for name in self._own)]
        is_plain = isinstance(value, ast.Constant)
        if self._items:
            return is_plain and all(isinstance(part, ast.Slice) for part in changing)
        return not changing or (is_plain and all(isinstance(part, ast.Slice) for part in changing))

    def _is_arithmetic(self, node: ast.expr) -> bool:
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                function = part.func
                if not isinstance(function, ast.Attribute) or function.attr not in ARITHMETIC:
                    return False
            elif isinstance(part, _OTHER) or (isinstance(part, ast.Subscript) and _selects(part)):
                return False
        return True

    @staticmethod
    def _reads(name: str, node: ast.AST) -> bool:
        return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


_OTHER = (
    ast.Await, ast.BoolOp, ast.Dict, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.JoinedStr, ast.Lambda,
    ast.List, ast.ListComp, ast.NamedExpr, ast.Set, ast.SetComp, ast.Yield, ast.YieldFrom,
)  # fmt: skip
"""Expressions that are no arithmetic on tensors."""


def _selects(subscript: ast.Subscript) -> bool:
    """Whether an index takes as many elements as fulfil a condition."""
    return any(isinstance(part, ast.Compare) for part in ast.walk(subscript.slice))


def _holders(value: ast.expr, held: str) -> list[ast.expr]:
    """Where a value uses a tensor: the subscripts around it, or the tensor itself."""
    parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
    around = {id(part.value): part for part in parts if isinstance(part, ast.Subscript)}
    return [
        around.get(id(part), part)
        for part in parts
        if isinstance(part, ast.Name | ast.Attribute) and ast.unparse(part) == held
    ]


def _has_few_rounds(call: ast.Call) -> bool:
    """Whether a range is a literal and short."""
    given = call.args[-1] if call.args else None
    if len(call.args) == 3:
        given = call.args[1]
    return isinstance(given, ast.Constant) and (
        is_off(given) or (isinstance(given.value, int) and given.value <= FEW)
    )


def _is_hot_tensor(held: ast.expr, facts: Facts) -> bool:
    """Whether what is filled is a tensor on the GPU, or one that a module makes on the host in each step."""
    value, function = facts.value(held), facts.function(held)
    return value.on_accelerator or (
        value.is_tensor and function is not None and function.class_role == "module"
    )


def _is_apart(node: ast.expr, facts: Facts) -> bool:
    """Whether the function prepares something, or is named as the one of several ways that takes a loop."""
    function = facts.function(node)
    return function is not None and (
        function.role in QUIET_ROLES or ON_PURPOSE.search(function.name) is not None
    )
