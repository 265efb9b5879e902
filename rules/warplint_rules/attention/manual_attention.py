from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.rules.rule import (
    At,
    Example,
    Metric,
    Related,
    Risk,
    Rule,
    Signature,
    TorchVersion,
    Verdict,
    wants,
)
from warplint.static.values import Kind
from warplint_rules._calls import argument
from warplint_rules.attention._alternatives import is_one_of_several
from warplint_rules.attention._products import SWAPS, Product, scores_behind, weighted_sums

MODULES = {"attend", "attn_softmax", "softmax", "sm"}
"""Attributes that hold a softmax module."""
LAST = {-1, 2, 3, 4}
"""Last dimensions of scores in batches."""


class ManualAttention(Rule):
    """Attention is written out as two products with a softmax between them.

    ## Why is this slow?

    Written out, each step of attention is a kernel of its own that reads and writes the whole matrix of
    scores, one number for each pair of positions, and training keeps several such matrices for the backward
    pass. `torch.nn.functional.scaled_dot_product_attention` computes the same block by block on the chip:
    its memory grows with the length, not with its square. Measured on an H200 with torch 2.11, 8 sequences of
    1024 positions in bfloat16: 12.7 times as fast forward, 4.3 times forward and backward with a ninth of the
    memory, 2.8 times with a bias; in windows of 49 positions with a bias still 1.8 times. Reported elsewhere:
    about half the memory, and 7 s where a fine-tuning pipeline took 30 s (pytorch/torchtitan#999).

    ## When it stays silent

    - where the weights or the scores are wanted for themselves: returned, kept, averaged;
    - where something is done to them that the fused function cannot do: capped logits (`tanh`), a gate, a
      norm, another product added to them;
    - where the file has a fused attention beside it, or the function is named as the plain one (`eager_…`);
    - with a learned table in place of keys, and over other dimensions than the last;
    - outside code that runs every step.

    ## Fix safety

    There is no automatic fix. Scale, mask, dropout and additive biases have to be handed over:
    `F.scaled_dot_product_attention(q, k, v, attn_mask=…, dropout_p=p if self.training else 0.0, scale=s)`.
    Queries, keys and values are (batch, heads, length, width), the mask is true where attention is *allowed*,
    and a bias that is learned needs its gradient, which not every kernel computes. Results differ in the last
    digits.

    ## Sources

    - documentation of `torch.nn.functional.scaled_dot_product_attention`
    - pytorch/torchtitan#999 and openai/whisper#2359: attention written out, replaced
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL801"
    name = "manual-attention"
    wants = wants(
        calls={"torch.softmax", "torch.nn.functional.softmax"},
        methods=MODULES,
    )
    proof = Signature(At.LINE, Metric.KERNEL_TIME)
    risk = Risk.HIGH
    since = TorchVersion(2, 0)

    fires = (
        Example(
            "With a mask and dropout.",
            """\
import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = «scores.softmax(dim=-1)»
        return self.dropout(weights) @ v
""",
        ),
        Example(
            "With a bias, a module for the softmax, and einsum.",
            """\
import torch
from torch import nn


class Window(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)
        self.bias = nn.Parameter(torch.zeros(8, 49, 49))

    def forward(self, qkv):
        q, k, v = qkv.unbind(0)
        weights = torch.einsum("bhqd,bhkd->bhqk", q.reshape(-1, self.heads, 49, 32), k)
        weights = weights + self.bias
        weights = «self.softmax(weights)»
        return torch.einsum("bhqk,bhkd->bhqd", weights, v)
""",
        ),
        Example(
            "The values stand first, and the weights are turned round.",
            """\
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def forward(self, q, k, v):
        scores = torch.bmm(q, k)
        weights = «F.softmax(scores * q.shape[-1] ** -0.5, dim=2)».permute(0, 2, 1)
        return torch.bmm(v, weights)
""",
        ),
    )

    quiet = (
        Example(
            "The weights are returned or kept.",
            """\
import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, q, k, v):
        weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return weights @ v, weights


class Kept(nn.Module):
    def forward(self, q, k, v):
        self.weights = torch.softmax(q @ k.mT, dim=-1)
        return self.weights @ v
""",
        ),
        Example(
            "Capped logits, gates, and heads that are mixed.",
            """\
import torch
from torch import nn


class Capped(nn.Module):
    def forward(self, q, k, v):
        scores = torch.tanh(q @ k.transpose(-2, -1) / 50.0) * 50.0
        return torch.softmax(scores, dim=-1) @ v


class Gated(nn.Module):
    def forward(self, q, k, v):
        weights = torch.softmax(q @ k.mT, dim=-1) * self.gate
        return weights @ v


class Mixed(nn.Module):
    def forward(self, q, k, v):
        scores = self.mix(q @ k.mT)
        return torch.softmax(scores, dim=-1) @ v
""",
        ),
        Example(
            "A fused attention stands beside it.",
            """\
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def forward(self, q, k, v):
        if self.fast:
            return F.scaled_dot_product_attention(q, k, v)
        return torch.softmax(q @ k.mT, dim=-1) @ v
""",
        ),
        Example(
            "The plain way by name, and a softmax that is no attention.",
            """\
import torch
from torch import nn


def eager_attention_forward(module, q, k, v):
    return torch.softmax(torch.matmul(q, k.transpose(2, 3)), dim=-1) @ v


class Linear(nn.Module):
    def forward(self, q, k, v):
        context = k.softmax(dim=-1).transpose(-2, -1) @ v
        return q.softmax(dim=-1) @ context


class Classifier(nn.Module):
    def forward(self, x, y, table):
        return torch.softmax(x @ self.weight.mT, dim=-1), torch.softmax(x @ y.mT, dim=1) @ table
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if facts.hotness(node) is not Hotness.STEP:
            return None
        scores = _scores(node, facts)
        if scores is None or _dimension(node, facts) not in LAST:
            return None
        product = scores_behind(scores, facts)
        if product is None or _has_own_keys(product) or weighted_sums(node, facts) is None:
            return None
        if is_one_of_several(node, facts):
            return None
        return Verdict(
            node,
            "This attention is written out, and its matrix of scores is read and written several times. Use "
            "`F.scaled_dot_product_attention(q, k, v, …)`, with masks and biases as `attn_mask=`.",
            Confidence.LIKELY,
            related=(Related(facts.span(product.node), "the scores"),),
        )


def _scores(call: ast.Call, facts: Facts) -> ast.expr | None:
    """What a softmax is taken of."""
    if facts.qualified(call.func) is not None or _is_module(call.func, facts):
        return argument(call, 0, "input")
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "softmax"
    return call.func.value if is_method and isinstance(call.func, ast.Attribute) else None


def _is_module(function: ast.expr, facts: Facts) -> bool:
    value = facts.value(function)
    return value.kind is Kind.MODULE and value.qualified == "torch.nn.Softmax"


def _dimension(call: ast.Call, facts: Facts) -> object:
    """The dimension over which a softmax sums to one, if it is written out."""
    if _is_module(call.func, facts):
        made = facts.value(call.func).origin
        given = argument(made, 0, "dim") if isinstance(made, ast.Call) else None
    else:
        given = argument(call, 1 if facts.qualified(call.func) is not None else 0, "dim")
    try:
        return None if given is None else ast.literal_eval(given)
    except ValueError:
        return None


def _has_own_keys(product: Product) -> bool:
    """Whether one side is a table of the module's own, at most turned round or repeated."""
    return any(isinstance(_laid_out(operand), ast.Attribute) for operand in product.operands)


def _laid_out(operand: ast.expr) -> ast.expr:
    """What is multiplied, before it was brought into shape."""
    while True:
        if isinstance(operand, ast.Call) and isinstance(operand.func, ast.Attribute):
            operand = operand.func.value
        elif isinstance(operand, ast.Subscript) or (
            isinstance(operand, ast.Attribute) and operand.attr in SWAPS
        ):
            operand = operand.value
        else:
            return operand
