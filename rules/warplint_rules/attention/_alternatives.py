"""Whether a program has a fused attention beside the one that is looked at."""

from __future__ import annotations

import ast
import re

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts

FUSED_CALLS = (
    "attention_interface", "dispatch_attention_fn", "flash_attn_func", "flash_attn_varlen_func",
    "flex_attention", "memory_efficient_attention", "scaled_dot_product_attention",
)  # fmt: skip
"""Fused attention as programs call it."""
FUSED_NAMES = Pattern(
    r"\w*(flash|sdpa|scaled_dot|xformers|xops|memory_efficient|fused|flex_attn|flex_attention|triton|paged)\w*",
    re.IGNORECASE,
)
"""Names in conditions and calls that show a choice between ways to compute attention."""
REFERENCE_NAMES = Pattern(
    r"\w*(eager|fallback|golden|manual|math|naive|native|plain|ref|reference|slow|torch_attn|unfused|vanilla)(_\w+)?",
    re.IGNORECASE,
)
"""Functions and classes that are there to compare with, or for machines that have nothing better."""


def is_one_of_several(node: ast.expr, facts: Facts) -> bool:
    """Whether a fused attention exists beside this one, or this one is meant to be plain."""
    if facts.calls_any(FUSED_CALLS):
        return True
    around = facts.parent(node)
    while around is not None:
        if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and (
            REFERENCE_NAMES.fullmatch(around.name) or any(map(_names_fused, ast.walk(around)))
        ):
            return True
        around = facts.parent(around)
    return False


def _names_fused(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return FUSED_NAMES.fullmatch(name) is not None
