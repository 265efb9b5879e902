from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Hotness
from warplint.static.parsing.tree import last_name, walk_scope
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.words import words
from warplint_rules._calls import argument, has_unpacking, with_keyword

if TYPE_CHECKING:
    import libcst as cst

ATTENTION = "torch.nn.MultiheadAttention"
NAMES = words(
    """
    att attention attention_layer attn attn1 attn2 attn_layer ca_text cross_attention cross_attn
    cross_attn_image cross_attn_text encoder_attn ma mha mha_layer multi_head_attention
    multihead_attention multihead_attn self_attention self_attn
    """
)
"""What modules call the attention that they hold."""
NEED_WEIGHTS = 4
"""The position of ``need_weights``."""


class UnusedAttentionWeights(Rule):
    """`nn.MultiheadAttention` is asked for its weights, which nobody reads.

    ## Why is this slow?

    With `need_weights=True`, the default, the module computes the whole matrix of weights, one number for
    each pair of positions, and averages it over the heads. With `need_weights=False` it uses the fused
    `scaled_dot_product_attention`, which never writes that matrix to memory. Measured on an H200 with torch
    2.11, 8 sequences of 1024 positions in bfloat16: a training step of the layer is 1.4 times as fast and
    takes a sixth of the memory.

    ## When it stays silent

    - with `need_weights=`, whatever it is, and where `**options` may hold it;
    - where the second result has a name that is read, or both results are handed on together;
    - for attention that is not PyTorch's own, and outside code that runs every step.

    ## Fix safety

    Unsafe, though the result is the same sum: it is added up in another order and differs in its last
    digits, and dropout on the weights draws other random numbers. A forward hook that looks at the weights
    gets `None`.

    ## Sources

    - documentation of `torch.nn.MultiheadAttention`: `need_weights=False` for the best performance
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL802"
    name = "unused-attention-weights"
    wants = wants(methods=NAMES)
    proof = Signature(At.LINE, Metric.KERNEL_TIME)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "The second result is dropped.",
            """\
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(width, heads)
        self.cross_attn = nn.MultiheadAttention(width, heads)

    def forward(self, x, memory):
        x = x + «self.self_attn(x, x, value=x)»[0]
        y, _ = «self.cross_attn(
            x,
            memory,
            memory,
        )»
        z = «self.self_attn(y, y, y)»
        return x + z[0]
""",
            """\
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(width, heads)
        self.cross_attn = nn.MultiheadAttention(width, heads)

    def forward(self, x, memory):
        x = x + self.self_attn(x, x, value=x, need_weights=False)[0]
        y, _ = self.cross_attn(
            x,
            memory,
            memory,
            need_weights=False,
        )
        z = self.self_attn(y, y, y, need_weights=False)
        return x + z[0]
""",
        ),
    )

    quiet = (
        Example(
            "The weights are not asked for, or wanted.",
            """\
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads)

    def forward(self, x, mask, options):
        x, _ = self.attn(x, x, x, need_weights=False)
        x, _ = self.attn(x, x, x, mask, False)
        x, _ = self.attn(x, x, x, **options)
        x, weights = self.attn(x, x, x)
        return self.attn(x, x, x), weights
""",
        ),
        Example(
            "Another kind of attention.",
            """\
from torch import nn

from layers import MultiheadAttention


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.self_attn = MultiheadAttention(width, heads)

    def forward(self, x):
        return self.self_attn(x, x, x)[0]
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not facts.is_called("MultiheadAttention") or has_unpacking(node):
            return None
        if argument(node, NEED_WEIGHTS, "need_weights") is not None:
            return None
        if facts.value(node.func).qualified != ATTENTION or facts.hotness(node) is not Hotness.STEP:
            return None
        if not _drops_weights(node, facts):
            return None
        return Verdict(
            node,
            f"`{last_name(node.func)}` computes the whole matrix of attention weights, which nobody reads. "
            "With `need_weights=False` it uses the fused attention.",
            Confidence.CERTAIN,
            Applicability.UNSAFE,
            "Add `need_weights=False`",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call)
        return Rewrite(with_keyword(node, "need_weights", cst.Name("False")))


def _drops_weights(call: ast.Call, facts: Facts) -> bool:
    """Whether only the first of the two results is used."""
    parent = facts.parent(call)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple):
        names = parent.targets[0].elts
        weights = names[1] if len(names) == 2 and len(parent.targets) == 1 else None
        return isinstance(weights, ast.Name) and not _is_read(weights.id, call, facts)
    uses = facts.uses(call)
    return bool(uses) and all(_is_first(use.node) for use in uses)


def _is_first(node: ast.AST) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    return node.slice.value == 0


def _is_read(name: str, call: ast.Call, facts: Facts) -> bool:
    function = facts.function(call)
    return function is None or any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)
        for part in walk_scope(function.node)
    )
