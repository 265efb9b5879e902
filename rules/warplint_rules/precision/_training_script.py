"""Scripts that train a model without having chosen a precision."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts, Role
from warplint.static.finding import Hotness
from warplint.static.parsing.tree import last_name
from warplint.static.tables import frequency
from warplint.static.values import Kind, Place

SCRIPT = r"__name__\s*==\s*[\"']__main__"
MATRIX_MODELS = r"(?i)transformer|multihead|attention|bert|gpt|llama|\bvit|from_pretrained"
"""Models that spend their time in matrix products. cuDNN's convolutions use TF32 by default."""
GRAPHS = r"(?i)torch_geometric|\bdgl\b|graph|\bgat\b"
"""Attention over graphs is gathering and scattering, and its matrices are small."""
CHOSEN = (
    r"(?i)autocast|tf32|matmul_precision|fp32_precision|gradscaler|bfloat16|float16|\bhalf\b|mixed_?precision"
    r"|fp16|bf16|float64|\.double\(|\baccelerate\b|\bAccelerator\(|deepspeed|lightning|fabric|\bapex\b|Trainer\("
    r"|deterministic|torch_?dtype"
)
"""What a file mentions that chooses the precision, or has it chosen by a framework."""
NO_TRAINING = {Role.EVALUATE, Role.GENERATE}


def moves_model_of_script(call: ast.Call, facts: Facts) -> bool:
    """Whether a call moves a model to the GPU, in a script that trains and says nothing of precision."""
    assert isinstance(call.func, ast.Attribute), "a move is a method"
    # What holds for the whole file is asked first: it spares most files the rest.
    if not facts.is_called("backward") or facts.mentions(CHOSEN) or facts.mentions(GRAPHS):
        return False
    function = facts.function(call)
    if function is not None and (function.role in NO_TRAINING or not facts.mentions(SCRIPT)):
        return False
    if facts.hotness(call) is Hotness.STEP:
        return False
    return _is_model(call.func.value, facts) and _goes_to_gpu(call, facts)


def _is_model(node: ast.expr, facts: Facts) -> bool:
    """Whether an expression is a model: not a single layer or loss of PyTorch, nor a part moving itself."""
    if isinstance(node, ast.Name) and node.id == "self":
        return False
    value = facts.value(node)
    if value.kind is Kind.MODULE:
        return value.qualified is None or not value.qualified.startswith("torch.nn.")
    is_named = frequency.MODEL.fullmatch(last_name(node)) is not None
    return value.kind is Kind.UNKNOWN and is_named and not isinstance(node, ast.Subscript)


def _goes_to_gpu(call: ast.Call, facts: Facts) -> bool:
    if last_name(call.func) == "cuda":
        return True
    moved = facts.value(call)
    if moved.kind is Kind.MODULE:
        return moved.place in (Place.ACCELERATOR, Place.LIKELY_ACCELERATOR)
    given = [facts.value(argument) for argument in call.args]
    return any(value.kind is Kind.DEVICE and value.place is not Place.CPU for value in given)
