"""What a module is called when its time is reported: class, shapes of its weights, batch and dtype.

Shapes are those of the parameters themselves, so they are exact and cost nothing to record; Kineto's
``record_shapes`` would write those of every operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch

DTYPES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
}
"""As people call them; any other goes by torch's own name."""

MOST_SHAPES = 3
"""So many parameters of a module that no table knows are shown by their shapes."""
MOST_VALUES = 8
"""So many values of a call's arguments or result are looked at for a tensor, at each depth."""
DEEPEST = 3
MOST_WRAPPERS = 16
"""Decorators round a ``forward`` that are looked through."""


def describe(module: torch.nn.Module) -> dict[str, Any]:
    """What can be known of a module before it is called: keys of a LAYER record."""
    parameters = _own_parameters(module)
    code = _forward_code(type(module))
    return {
        "class": type(module).__name__,
        "shape": _shape(module, parameters),
        "bias": parameters.get("bias") is not None or parameters.get("in_proj_bias") is not None,
        "weights": next((dtype_name(each.dtype) for each in parameters.values() if _is_floating(each)), ""),
        "file": code.co_filename if code is not None else "",
        "line": code.co_firstlineno if code is not None else 0,
    }


def describe_call(arguments: object, result: object) -> dict[str, Any]:
    """What one call shows: ``input``, the shape of the first tensor that went in, and ``dtype``, of what came
    out.

    What came out tells in which type the module worked: under autocast a linear layer with weights in fp32
    gives bf16, a norm beside it fp32. ``dtype`` is empty where no floating-point tensor came out."""
    went_in = next(_tensors(arguments), None)
    came_out = next((each for each in _tensors(result) if _is_floating(each)), None)
    return {
        "input": "" if went_in is None else _sizes(went_in.shape),
        "dtype": "" if came_out is None else dtype_name(came_out.dtype),
    }


def dtype_name(dtype: torch.dtype) -> str:
    return DTYPES.get(dtype) or str(dtype).removeprefix("torch.")


def _own_parameters(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    # Not named_parameters(), which a program may have replaced, nor getattr, which may compute.
    return {name: each for name, each in module._parameters.items() if each is not None}


def _is_floating(tensor: torch.Tensor) -> bool:
    return bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)


def _tensors(value: object, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples, lists and dictionaries, near the front."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < DEEPEST and isinstance(value, tuple | list | dict):
        values = list(value.values()) if isinstance(value, dict) else value
        for each in values[:MOST_VALUES]:
            yield from _tensors(each, depth + 1)


def _forward_code(kind: type[Any]) -> CodeType | None:
    """The code of the class's ``forward``, below its decorators."""
    function = getattr(kind, "forward", None)
    for _ in range(MOST_WRAPPERS):
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _sizes(sizes: Any) -> str:
    return "x".join(str(size) for size in sizes)


def _linear(module: Any, weight: torch.Tensor) -> str:
    # Packed weights (four bits each, say) have another form than the product they stand for.
    if weight.dim() == 2 and weight.shape[0] == getattr(module, "out_features", weight.shape[0]):
        return f"{weight.shape[1]}x{weight.shape[0]}"
    return f"{module.in_features}x{module.out_features}"


def _convolution(module: Any, weight: torch.Tensor) -> str:
    text = f"{module.in_channels}x{module.out_channels} {_sizes(weight.shape[2:])}"
    if set(module.stride) != {1}:
        text += f" stride {_sizes(module.stride)}"
    return text if module.groups == 1 else f"{text} groups {module.groups}"


def _plain(module: Any, weight: torch.Tensor) -> str:
    return _sizes(weight.shape)


SHAPES: dict[str, Callable[[Any, torch.Tensor], str]] = {
    "Linear": _linear,
    "Conv1d": _convolution,
    "Conv2d": _convolution,
    "Conv3d": _convolution,
    "ConvTranspose1d": _convolution,
    "ConvTranspose2d": _convolution,
    "ConvTranspose3d": _convolution,
    "Embedding": _plain,
    "EmbeddingBag": _plain,
    "LayerNorm": _plain,
    "RMSNorm": _plain,
    "GroupNorm": _plain,
    "BatchNorm1d": _plain,
    "BatchNorm2d": _plain,
    "BatchNorm3d": _plain,
}
"""A class of torch's to how the shape of its ``weight`` is written; it holds for classes derived from it."""

SIZES: dict[str, str] = {
    "LSTM": "{0.input_size}x{0.hidden_size} layers {0.num_layers}",
    "GRU": "{0.input_size}x{0.hidden_size} layers {0.num_layers}",
    "RNN": "{0.input_size}x{0.hidden_size} layers {0.num_layers}",
    "MultiheadAttention": "{0.embed_dim} heads {0.num_heads}",
}
"""Classes whose parameters are many, and say less than what they were made with."""


def _shape(module: torch.nn.Module, parameters: dict[str, torch.Tensor]) -> str:
    for kind in type(module).__mro__:
        if not kind.__module__.startswith("torch."):
            continue
        weight = parameters.get("weight")
        if kind.__name__ in SHAPES and weight is not None:
            return SHAPES[kind.__name__](module, weight)
        if kind.__name__ in SIZES:
            return SIZES[kind.__name__].format(module)
    shapes = [_sizes(each.shape) for each in parameters.values() if each.dim()]
    return ", ".join(shapes[:MOST_SHAPES]) + (", …" if len(shapes) > MOST_SHAPES else "")
