"""What functions and classes of PyTorch and its companions give when they are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static import domain
from warplint.static.inference import moves, tensor_methods
from warplint.static.inference.arguments import Given
from warplint.static.parsing.tree import last_name
from warplint.static.tables import torch_factories, torch_functions, torch_methods
from warplint.static.tables.torch_factories import Shape
from warplint.static.values import UNKNOWN, Kind, Place, Value

if TYPE_CHECKING:
    from warplint.static.inference.evaluate import Evaluator


def result(evaluator: Evaluator, name: str, given: Given) -> Value | None:
    """What calling the thing of this qualified name gives; None where nothing is known of the name."""
    if name in torch_factories.FACTORIES:
        return _factory(evaluator, name, given)
    if name in torch_functions.LOADERS or name.endswith(".DataLoader"):
        return _loader(given)
    if name.startswith(torch_functions.NUMBER_NAMESPACES):
        return domain.NUMBER
    if name.startswith(torch_functions.ARRAY_NAMESPACES):
        return domain.NDARRAY
    if name.startswith(torch_functions.TENSOR_NAMESPACES):
        scalar = name in torch_functions.LOSSES and "reduction" not in given.named
        return _combined(evaluator, given, 0 if scalar else None)
    if name.startswith("torch."):
        return _special(evaluator, name, given) or _by_namespace(evaluator, name, given)
    return _companion(name)


def _companion(name: str) -> Value | None:
    if name.startswith(torch_functions.MODEL_NAMESPACES) or name.endswith(".from_pretrained"):
        host = any(word in name for word in torch_functions.HOST_CLASSES)
        return None if host else Value(Kind.MODULE, qualified=name)
    return None


def _special(evaluator: Evaluator, name: str, given: Given) -> Value | None:
    """Functions that have a meaning of their own."""
    node, first = given.node, given.first
    if name == "torch.device":
        return _device(given)
    if name in torch_functions.PARAMETERS:
        place = first.place if first is not None and first.is_tensor else Place.UNKNOWN
        ndim = first.ndim if first is not None else None
        return Value(Kind.TENSOR, place, ndim=ndim, qualified=name, origin=node)
    if name in torch_factories.LIKE_FACTORIES:
        held = first or UNKNOWN
        return made(given, held.place, held.like, held.ndim, held.dtype)
    if name in torch_factories.HOST_FACTORIES:
        return Value(Kind.TENSOR, Place.CPU, qualified=name, origin=node)
    if name in torch_factories.LEGACY:
        dtype, ndim = torch_factories.LEGACY[name], _data_ndim(given)
        return Value(Kind.TENSOR, Place.CPU, ndim=ndim, dtype=dtype, qualified=name, origin=node)
    if name.startswith("torch.cuda.") and name.endswith("Tensor"):
        return Value(Kind.TENSOR, Place.ACCELERATOR, qualified=name, origin=node)
    if name in torch_functions.NUMBERS:
        return domain.NUMBER
    if name in torch_functions.WRAPPERS:
        return first or UNKNOWN
    return None


def _by_namespace(evaluator: Evaluator, name: str, given: Given) -> Value:
    if name.startswith("torch.optim."):
        return Value(Kind.UNKNOWN if "lr_scheduler" in name else Kind.OPTIMIZER, qualified=name)
    if name.startswith("torch.utils.data."):
        held = given.first.element if given.first is not None else None
        return Value(Kind.DATASET, qualified=name, element=held)
    if name.startswith("torch.utils.checkpoint."):
        return evaluator.placed(domain.combine(given.tensors)) if given.tensors else UNKNOWN
    if name.startswith(torch_functions.NOT_TENSORS):
        return domain.SHAPE if name == "torch.Size" else UNKNOWN
    if name.startswith("torch.nn."):
        return _module(name, given)
    return _function(evaluator, name.rpartition(".")[2], given)


def _function(evaluator: Evaluator, name: str, given: Given) -> Value:
    """``torch.cat``, ``torch.max`` and so on: like the method of the same name, on the first tensor."""
    combined = _combined(evaluator, given)
    if not combined.is_tensor:
        return UNKNOWN
    pairs = name in torch_methods.PAIRS_WITH_DIM and tensor_methods.names_dim(given, 1)
    if pairs or name in torch_methods.TUPLES or (name == "where" and len(given.all) == 1):
        return domain.sequence(combined)
    held = given.first or UNKNOWN
    dtype = tensor_methods.dtype_after(name, held)
    if name in torch_methods.REDUCTIONS:
        return domain.tensor(combined.place, combined.like, 0 if len(given.all) == 1 else None, dtype)
    return domain.tensor(combined.place, combined.like, combined.ndim, dtype)


def _combined(evaluator: Evaluator, given: Given, ndim: int | None = None) -> Value:
    """A tensor where the tensors among the arguments live; unknown ones may live anywhere."""
    tensors = given.tensors
    if not tensors:
        doubtful = given.first is not None and given.first.kind in (Kind.UNKNOWN, Kind.SEQUENCE)
        return evaluator.placed(domain.tensor(ndim=ndim)) if doubtful else UNKNOWN
    unknown = [value for value in given.all if value.kind is Kind.UNKNOWN]
    combined = domain.combine([*tensors, *unknown])
    # Operators keep the dimensions of what they are given; a function may give any number.
    ndim = 0 if ndim is None and combined.ndim == 0 else ndim
    return domain.tensor(combined.place, combined.like, ndim)


def _factory(evaluator: Evaluator, name: str, given: Given) -> Value:
    factory = torch_factories.FACTORIES[name]
    place, like = evaluator.default_place, None
    data = given.first
    if factory.from_data and data is not None:
        if data.is_tensor:
            place, like = data.place, data.like
        elif data.kind is Kind.UNKNOWN and name != "torch.tensor":
            # as_tensor hands a tensor on as it is; torch.tensor of one only warns and is rare.
            place = Place.UNKNOWN
    tensor = made(given, place, like, _ndim(factory.shape, given), factory.dtype)
    return tensor.with_(qualified=name, origin=given.node)


def made(given: Given, place: Place, like: str | None, ndim: int | None, dtype: str | None) -> Value:
    """A new tensor: where its ``device`` says, else at ``place``, where it is built by default."""
    device = None
    named = given.keyword("device")
    if named is not None:
        target = moves.device(*named)
        if target.place is not None:
            place, like, device = target.place, target.like, target.device
    elif given.has_unpacking:
        place, like = Place.UNKNOWN, None
    wanted = given.keyword("dtype")
    if wanted is not None:
        dtype = _dtype(*wanted)
    tensor = domain.tensor(place, like, ndim, dtype, device)
    pinned = given.named.get("pin_memory")
    return tensor.with_(pinned=True) if pinned is not None and pinned.constant is True else tensor


def _dtype(node: ast.expr, value: Value) -> str | None:
    """The element type that an argument names; Python's own types stand for those of torch."""
    if isinstance(value.constant, str):
        return value.constant
    is_python = isinstance(node, ast.Name) and value.kind is Kind.UNKNOWN and value.qualified is None
    return torch_factories.PYTHON_DTYPES.get(last_name(node)) if is_python else None


_FIXED_NDIM = {Shape.SCALAR: 0, Shape.VECTOR: 1, Shape.MATRIX: 2}


def _ndim(shape: Shape, given: Given) -> int | None:
    if shape in _FIXED_NDIM:
        return _FIXED_NDIM[shape]
    if shape is Shape.DATA:
        return _data_ndim(given)
    if shape is Shape.FIRST or (shape is Shape.SIZE and _is_tuple(given)):
        size = given.node.args[0] if given.node.args else None
        return len(size.elts) if isinstance(size, ast.Tuple | ast.List) else None
    if shape is Shape.SIZE:
        numbers = all(value.kind is Kind.NUMBER for value in given.positional)
        # One unknown argument may be a tuple of sizes; of several, each is a size.
        plain = not any(isinstance(argument, ast.Starred) for argument in given.node.args)
        return len(given.positional) if plain and (numbers or len(given.positional) > 1) else None
    return None


def _is_tuple(given: Given) -> bool:
    return len(given.positional) == 1 and given.positional[0].kind is Kind.SEQUENCE


def _data_ndim(given: Given) -> int | None:
    """The depth of nested lists of numbers."""
    data = given.node.args[0] if given.node.args else None
    depth = 0
    while isinstance(data, ast.List | ast.Tuple):
        depth += 1
        data = data.elts[0] if data.elts else None
    if depth:
        return depth
    return 0 if given.first is not None and given.first.kind is Kind.NUMBER else None


def _device(given: Given) -> Value:
    first = given.first or given.named.get("type") or UNKNOWN
    if first.kind is Kind.DEVICE:
        return first
    if first.kind is Kind.NUMBER:
        return Value(Kind.DEVICE, Place.ACCELERATOR)
    if isinstance(first.constant, str):
        return Value(Kind.DEVICE, domain.device_string(first.constant) or Place.UNKNOWN)
    return domain.LIKELY_DEVICE


def _module(name: str, given: Given) -> Value:
    """An instance of a class of torch.nn; ``constant`` is the ``reduction`` of a loss."""
    if name in torch_functions.PARAMETER_CONTAINERS:
        return domain.sequence(domain.tensor())
    if not name.rpartition(".")[2][:1].isupper():
        return UNKNOWN
    element = Value(Kind.MODULE) if name in torch_functions.CONTAINERS else None
    reduction = given.named.get("reduction", domain.NONE).constant
    return Value(Kind.MODULE, qualified=name, constant=reduction, origin=given.node, element=element)


def _loader(given: Given) -> Value:
    """Its batches come from host memory. How a batch is nested is not known: each part is its element."""
    dataset = given.first or given.named.get("dataset") or UNKNOWN
    pinned = given.named.get("pin_memory", domain.NONE).constant is True
    part = Value(Kind.TENSOR, Place.CPU, pinned=True if pinned else None)
    batch = Value(Kind.SEQUENCE, element=part, constant=domain.BATCH)
    name = "torch.utils.data.DataLoader"
    return Value(Kind.LOADER, qualified=name, constant=dataset.qualified, origin=given.node, element=batch)
