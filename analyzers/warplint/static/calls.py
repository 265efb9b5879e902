"""What calls give: tensor methods, functions of PyTorch and NumPy, modules, this file's own functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static import domain
from warplint.static.tables import frequency, naming, torch_factories, torch_functions, torch_methods
from warplint.static.tables.torch_factories import Shape
from warplint.static.tree import dotted
from warplint.static.values import UNKNOWN, Kind, Place, Value

if TYPE_CHECKING:
    from warplint.static.evaluate import Env, Evaluator


class Given:
    """The arguments of a call, evaluated."""

    def __init__(self, evaluator: Evaluator, node: ast.Call, env: Env) -> None:
        self.node = node
        self.positional = [evaluator.value(argument, env) for argument in node.args]
        self.named = {
            keyword.arg: evaluator.value(keyword.value, env)
            for keyword in node.keywords
            if keyword.arg is not None
        }
        for keyword in node.keywords:
            if keyword.arg is None:
                evaluator.value(keyword.value, env)

    @property
    def all(self) -> list[Value]:
        return [*self.positional, *self.named.values()]

    @property
    def tensors(self) -> list[Value]:
        """The tensors among the arguments, those in sequences included."""
        found: list[Value] = []
        for value in self.all:
            if value.kind is Kind.TENSOR:
                found.append(value)
            elif value.kind is Kind.SEQUENCE and value.element is not None and value.element.is_tensor:
                found += [part for part in value.elements or (value.element,) if part.is_tensor]
        return found

    def keyword(self, name: str) -> tuple[ast.expr, Value] | None:
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return keyword.value, self.named[name]
        return None

    @property
    def has_unpacking(self) -> bool:
        return any(keyword.arg is None for keyword in self.node.keywords)


def result(evaluator: Evaluator, node: ast.Call, env: Env) -> Value:
    """What a call gives."""
    function = node.func
    if isinstance(function, ast.Attribute):
        called = evaluator.value(function, env)
        given = Given(evaluator, node, env)
        if called.qualified is None or called.kind is not Kind.UNKNOWN:
            receiver = evaluator.values[function.value]
            found = _method(evaluator, node, function, receiver, called, given)
            if found is not None:
                return found
    else:
        if evaluator.is_builtin(function, env):
            assert isinstance(function, ast.Name)
            return _builtin(evaluator, function.id, Given(evaluator, node, env))
        called = evaluator.value(function, env)
        given = Given(evaluator, node, env)
    return _called(evaluator, node, called, given)


def _called(evaluator: Evaluator, node: ast.Call, called: Value, given: Given) -> Value:
    """The result of calling a value that is no method of a known kind."""
    if called.kind is Kind.MODULE:
        return _run_module(evaluator, called, given)
    if called.kind is Kind.CALLABLE:
        if called.qualified is not None:
            return evaluator.world.returned(called.qualified)
        return called.element or UNKNOWN
    if called.qualified is not None:
        if called.qualified.startswith(domain.THIS_FILE):
            return evaluator.world.instance(called.qualified)
        return _imported(evaluator, node, called.qualified, given)
    name = _name_of(node.func)
    if name in frequency.WRAPPERS and given.positional:
        return _iterated(name, given)
    if given.tensors and _is_likely_module(evaluator, node.func, name):
        return _run_module(evaluator, Value(Kind.MODULE), given)
    return UNKNOWN


def _is_likely_module(evaluator: Evaluator, function: ast.expr, name: str) -> bool:
    """An unknown callable that is named like a model, or is held by a module: most likely a module."""
    if frequency.MODEL.fullmatch(name) or naming.LOSS.fullmatch(name) or name == "criterion":
        return True
    held = (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "self"
    )
    return held and evaluator.owner is not None and evaluator.likely and name in _submodules(evaluator)


def _submodules(evaluator: Evaluator) -> set[str]:
    owner = evaluator.owner
    return set() if owner is None else {name for name, where in owner.stores.items() if "__init__" in where}


def _run_module(evaluator: Evaluator, module: Value, given: Given) -> Value:
    """Modules give tensors where they live, which is where their input must live too."""
    if module.qualified is not None and module.qualified.startswith(domain.THIS_FILE):
        known = evaluator.world.returned(f"{module.qualified}.forward")
        if known.kind not in {Kind.UNKNOWN, Kind.TENSOR}:
            return known
    tensors = given.tensors
    like = next((tensor.like for tensor in tensors if tensor.like is not None), None)
    ndim = 0 if module.qualified and module.qualified.endswith("Loss") and module.constant != "none" else None
    if module.place is not Place.UNKNOWN:
        return domain.tensor(module.place, like, ndim)
    combined = domain.combine(tensors)
    if combined.kind is Kind.TENSOR and combined.place is not Place.UNKNOWN:
        return domain.tensor(combined.place, combined.like, ndim)
    return evaluator.placed(domain.tensor(Place.UNKNOWN, like, ndim))


# Methods


def _method(
    evaluator: Evaluator,
    node: ast.Call,
    function: ast.Attribute,
    receiver: Value,
    called: Value,
    given: Given,
) -> Value | None:
    """The result of a method of a known kind; None where the receiver says nothing."""
    name = function.attr
    if receiver.kind is Kind.UNKNOWN and receiver.qualified is None and _is_tensor_method(name):
        receiver = evaluator.placed(domain.tensor())
        evaluator.values[function.value] = receiver
    if receiver.kind is Kind.TENSOR:
        return _tensor_method(evaluator, node, name, receiver, given)
    if receiver.kind is Kind.NDARRAY:
        return _array_method(name)
    if receiver.kind is Kind.MODULE:
        return _module_method(evaluator, node, name, receiver, called, given)
    if receiver.kind is Kind.SEQUENCE:
        return _sequence_method(evaluator, node, name, receiver, given)
    if receiver.kind is Kind.STRING:
        return (
            domain.NUMBER if name in {"find", "count", "index", "startswith", "endswith"} else domain.STRING
        )
    if receiver.kind in {Kind.NUMBER, Kind.NONE, Kind.DTYPE}:
        return UNKNOWN
    if receiver.kind is Kind.UNKNOWN and receiver.qualified is None:
        return _unknown_method(evaluator, node, name, given)
    return None


def _is_tensor_method(name: str) -> bool:
    return name in torch_methods.TENSOR_ONLY


def _unknown_method(evaluator: Evaluator, node: ast.Call, name: str, given: Given) -> Value | None:
    """Methods of anything: those of tensors and modules alike move what they are called on."""
    if name == "numpy" and not node.args:
        return domain.NDARRAY
    if name == "size" and given.positional:
        return domain.NUMBER
    return None


def _tensor_method(evaluator: Evaluator, node: ast.Call, name: str, held: Value, given: Given) -> Value:
    if name in torch_methods.READS:
        return Value(torch_methods.READS[name]) if name != "tolist" else domain.SHAPE
    if name in torch_methods.MOVES:
        return _moved(evaluator, node, name, held, given)
    if name in torch_methods.SIZES:
        return domain.NUMBER if given.all else domain.SHAPE
    if name in torch_methods.NUMBERS:
        return domain.NUMBER
    if name in torch_methods.NEW:
        return _made(evaluator, given, held.place, held.like, None, None)
    if name in torch_methods.DTYPES:
        return domain.tensor(held.place, held.like, held.ndim, torch_methods.DTYPES[name], held.device)
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    if plain not in torch_methods.SAME_DEVICE and name not in torch_methods.TENSOR_ONLY:
        # What a model returns is kept as one tensor; its containers' methods stand for it.
        return held if name in {"values", "get", "pop", "items"} else UNKNOWN
    if name in torch_methods.TUPLES or (name in torch_methods.PAIRS_WITH_DIM and _has_dim(given)):
        return domain.sequence(domain.tensor(held.place, held.like))
    if name in torch_methods.REDUCTIONS and not given.all:
        return domain.tensor(held.place, held.like, 0, _dtype_after(name, held))
    others = given.tensors
    if name in _VIEW_METHODS or plain != name:
        return held if not others or plain != name else domain.combine([held, *others])
    combined = domain.combine([held, *others])
    return domain.tensor(combined.place, combined.like, None, _dtype_after(name, held))


_VIEW_METHODS = frozenset(["clone", "contiguous", "detach", "requires_grad_", "share_memory_", "retain_grad"])


def _has_dim(given: Given) -> bool:
    return "dim" in given.named or bool(given.positional and given.positional[0].kind is not Kind.TENSOR)


def _dtype_after(name: str, held: Value) -> str | None:
    if name in torch_methods.PREDICATES:
        return "torch.bool"
    if name in torch_methods.INTEGER_RESULTS:
        return "torch.int64"
    return held.dtype if name in _KEEPS_DTYPE else None


_KEEPS_DTYPE = frozenset(
    [
        "view",
        "reshape",
        "flatten",
        "unsqueeze",
        "squeeze",
        "permute",
        "transpose",
        "t",
        "expand",
        "expand_as",
        "repeat",
        "flip",
        "roll",
        "narrow",
        "select",
        "index_select",
        "gather",
        "cumsum",
        "unfold",
        "tile",
        "ravel",
        "unflatten",
        "movedim",
        "masked_select",
        "take",
        "tril",
        "triu",
    ]
)


def _moved(evaluator: Evaluator, node: ast.Call, name: str, held: Value, given: Given) -> Value:
    """``.to``, ``.cuda``, ``.cpu``, ``.type_as``, ``.type``, ``.pin_memory``."""
    if name == "cpu":
        return domain.tensor(Place.CPU, None, held.ndim, held.dtype)
    if name == "pin_memory":
        return domain.tensor(held.place, held.like, held.ndim, held.dtype).with_(pinned=True)
    if name == "type_as":
        other = given.positional[0] if given.positional else UNKNOWN
        return domain.tensor(other.place, other.like, held.ndim, other.dtype)
    if name == "type":
        return _retyped(node, held, given)
    if name != "to":
        return domain.tensor(Place.ACCELERATOR, None, held.ndim, held.dtype)
    place, like, device, dtype = destination(evaluator, node, given)
    if place is None:
        return domain.tensor(held.place, held.like, held.ndim, dtype or None, held.device)
    return domain.tensor(place, like, held.ndim, dtype or held.dtype, device)


def _retyped(node: ast.Call, held: Value, given: Given) -> Value:
    """``.type(torch.cuda.FloatTensor)`` moves; ``.type(torch.float32)`` does not."""
    wanted = dotted(node.args[0]) if node.args else None
    text = given.positional[0].constant if given.positional else None
    name = text if isinstance(text, str) else wanted or ""
    if name.endswith("Tensor"):
        place = Place.ACCELERATOR if ".cuda." in name else Place.CPU
        return domain.tensor(
            place, None, held.ndim, torch_factories.LEGACY.get(f"torch.{name.rpartition('.')[2]}")
        )
    return domain.tensor(held.place, held.like, held.ndim, None, held.device)


def destination(
    evaluator: Evaluator, node: ast.Call, given: Given
) -> tuple[Place | None, str | None, str | None, str | None]:
    """Where ``.to(…)`` leads: place (None for no move), like, the device as source text, and the dtype."""
    place: Place | None = None
    like = device = dtype = None
    named = [
        (keyword.arg, keyword.value)
        for keyword in node.keywords
        if keyword.arg in {"device", "dtype", "other"}
    ]
    for role, argument in [*((None, argument) for argument in node.args), *named]:
        value = evaluator.values.get(argument, UNKNOWN)
        if value.kind is Kind.DTYPE or role == "dtype":
            dtype = value.constant if isinstance(value.constant, str) else None
        elif value.kind is Kind.TENSOR:
            place = value.place if value.place is not Place.UNKNOWN else Place.LIKELY_ACCELERATOR
            like, dtype = value.like or dotted(argument), value.dtype
        elif place is None and (role == "device" or not _is_flag(value)):
            place, like = _device(argument, value)
            device = dotted(argument)
    if given.has_unpacking and place is None:
        place = Place.LIKELY_ACCELERATOR if not node.args else Place.UNKNOWN
    return place, like, device, dtype


def _is_flag(value: Value) -> bool:
    return value.kind is Kind.NUMBER and isinstance(value.constant, bool)


def _device(node: ast.expr, value: Value) -> tuple[Place | None, str | None]:
    """Where a device expression points; None for what is no device after all."""
    if value.kind is Kind.DEVICE:
        return value.place if value.place is not Place.UNKNOWN else Place.LIKELY_ACCELERATOR, value.like
    if value.kind is Kind.STRING:
        return domain.device_string(value.constant) or Place.LIKELY_ACCELERATOR, None
    if value.kind is Kind.NUMBER:
        return Place.ACCELERATOR, None
    if value.kind is Kind.NONE:
        return None, None
    name = _name_of(node)
    if naming.DEVICE_NAME.fullmatch(name):
        return Place.LIKELY_ACCELERATOR, None
    if naming.DTYPE_NAME.fullmatch(name):
        return None, None
    return Place.UNKNOWN, None


def _array_method(name: str) -> Value:
    if name in {"item"}:
        return domain.NUMBER
    if name == "tolist":
        return domain.SHAPE
    return domain.NDARRAY


def _module_method(
    evaluator: Evaluator, node: ast.Call, name: str, module: Value, called: Value, given: Given
) -> Value | None:
    if name == "to":
        place, _, device, _ = destination(evaluator, node, given)
        return module if place is None else module.with_(place=place, device=device)
    if name in {"cuda", "xpu", "npu"}:
        return module.with_(place=Place.ACCELERATOR)
    if name == "cpu":
        return module.with_(place=Place.CPU)
    if name in _SAME_MODULE:
        return module
    if called.kind is Kind.CALLABLE:
        return None
    if called.kind is Kind.MODULE:
        return None
    if name in {"parameters", "buffers"}:
        return domain.sequence(evaluator.placed(domain.tensor(module.place)))
    if name in {"named_parameters", "named_buffers"}:
        return domain.sequence(domain.parts([domain.STRING, evaluator.placed(domain.tensor(module.place))]))
    if name in {"children", "modules"}:
        return domain.sequence(Value(Kind.MODULE))
    if name == "forward" or (given.tensors and not _is_own(module)):
        return _run_module(evaluator, module.with_(qualified=None), given)
    return UNKNOWN


_SAME_MODULE = frozenset(
    [
        "train",
        "eval",
        "half",
        "float",
        "double",
        "bfloat16",
        "requires_grad_",
        "to_empty",
        "share_memory",
        "apply",
        "compile",
    ]
)


def _is_own(module: Value) -> bool:
    return module.qualified is not None and module.qualified.startswith(domain.THIS_FILE)


def _sequence_method(evaluator: Evaluator, node: ast.Call, name: str, held: Value, given: Given) -> Value:
    element = held.element
    if name in {"get", "pop", "setdefault"}:
        return element or UNKNOWN
    if name == "values":
        return domain.sequence(element)
    if name == "items":
        return domain.sequence(domain.parts([UNKNOWN, element or UNKNOWN]))
    if name == "keys":
        return domain.SEQUENCE
    if name in {"copy"}:
        return held
    if name in {"index", "count", "numel"}:
        return domain.NUMBER
    if name in {"to", "cuda"} and element is not None and element.is_tensor:
        # Batches of Transformers, PyG and TensorDict move as one.
        return domain.sequence(_moved(evaluator, node, name, element, given))
    return UNKNOWN


# Functions


def _builtin(evaluator: Evaluator, name: str, given: Given) -> Value:
    first = given.positional[0] if given.positional else UNKNOWN
    if name in {"int", "float", "bool", "complex", "len", "round", "ord", "hash", "id", "isinstance", "hasattr",
                "issubclass", "callable", "any", "all"}:  # fmt: skip
        return domain.NUMBER
    if name in {"str", "repr", "format", "chr", "input"}:
        return domain.STRING
    if name == "range":
        return domain.SHAPE
    if name in {"enumerate", "zip", "iter", "reversed", "sorted", "map", "filter"}:
        return _iterated(name, given)
    if name in {"list", "tuple", "set"}:
        return domain.sequence(domain.element_of(first)) if first.kind is not Kind.SEQUENCE else first
    if name == "next":
        return domain.element_of(first)
    if name == "sum":
        return domain.element_of(first)
    if name in {"max", "min"}:
        return domain.combine(given.positional) if len(given.positional) > 1 else domain.element_of(first)
    if name in {"abs", "pow"}:
        return domain.combine(given.positional)
    if name == "dict":
        return domain.sequence(domain.join_all(list(given.named.values())))
    if name == "super" and evaluator.owner is not None:
        return UNKNOWN
    return UNKNOWN


def _iterated(name: str, given: Given) -> Value:
    """``enumerate``, ``zip`` and the wrappers that hand on what they are given."""
    first = given.positional[0] if given.positional else UNKNOWN
    if name == "enumerate":
        return domain.sequence(domain.parts([domain.NUMBER, domain.element_of(first)]))
    if name == "zip":
        return domain.sequence(domain.parts(domain.element_of(value) for value in given.positional))
    if name in {"map", "filter"}:
        if name == "map":
            return domain.sequence(first.element if first.kind is Kind.CALLABLE else None)
        return given.positional[1] if len(given.positional) > 1 else UNKNOWN
    if name in {"trange"}:
        return domain.SHAPE
    return first


def _imported(evaluator: Evaluator, node: ast.Call, name: str, given: Given) -> Value:
    """The result of calling something imported, by its qualified name."""
    factory = torch_factories.FACTORIES.get(name)
    if factory is not None:
        return _factory(evaluator, node, name, given)
    if name.startswith("torch."):
        return _torch(evaluator, node, name, given)
    if name in torch_functions.LOADERS or name.endswith("DataLoader"):
        return _loader(given)
    last = name.rpartition(".")[2]
    if last in frequency.WRAPPERS and given.positional:
        return _iterated(last, given)
    if name.startswith(torch_functions.NUMBER_NAMESPACES):
        return domain.NUMBER
    if name.startswith(torch_functions.ARRAY_NAMESPACES):
        return domain.NDARRAY
    if name.startswith(torch_functions.TENSOR_NAMESPACES) and given.tensors:
        return _combined(evaluator, given)
    if (
        last.startswith(("from_pretrained",))
        or ".from_pretrained" in name
        or name.startswith("torchvision.models.")
    ):
        return (
            Value(Kind.MODULE, qualified=name) if "Token" not in name and "Processor" not in name else UNKNOWN
        )
    return UNKNOWN


def _torch(evaluator: Evaluator, node: ast.Call, name: str, given: Given) -> Value:
    if name == "torch.device":
        return _device_made(given)
    if name in torch_functions.PARAMETERS:
        data = given.positional[0] if given.positional else domain.tensor()
        place = data.place if data.is_tensor else Place.UNKNOWN
        return Value(Kind.TENSOR, place, ndim=data.ndim, qualified=name, origin=node)
    if name in torch_factories.LIKE_FACTORIES:
        held = given.positional[0] if given.positional else UNKNOWN
        return _made(evaluator, given, held.place, held.like, held.ndim, held.dtype)
    if name in torch_factories.HOST_FACTORIES:
        return Value(Kind.TENSOR, Place.CPU, qualified=name, origin=node)
    if name in torch_factories.LEGACY:
        return Value(
            Kind.TENSOR, Place.CPU, dtype=torch_factories.LEGACY[name], qualified=name, origin=node,
            ndim=_data_ndim(node, given),
        )  # fmt: skip
    if name.startswith("torch.cuda.") and name.endswith("Tensor"):
        return Value(Kind.TENSOR, Place.ACCELERATOR, qualified=name, origin=node)
    if name in torch_functions.NUMBERS:
        return domain.NUMBER
    if name in torch_functions.WRAPPERS:
        return given.positional[0] if given.positional else UNKNOWN
    if name in torch_functions.LOADERS:
        return _loader(given)
    if name.startswith("torch.optim."):
        return Value(Kind.OPTIMIZER if "lr_scheduler" not in name else Kind.UNKNOWN, qualified=name)
    if name.startswith("torch.utils.data."):
        return Value(Kind.DATASET, qualified=name, element=_dataset_element(given))
    if name.startswith("torch.utils.checkpoint."):
        return evaluator.placed(domain.combine(given.tensors)) if given.tensors else UNKNOWN
    if name.startswith(torch_functions.TENSOR_NAMESPACES):
        return _combined(
            evaluator, given, 0 if name in torch_functions.LOSSES and "reduction" not in given.named else None
        )
    if name.startswith(torch_functions.NOT_TENSORS):
        return domain.SHAPE if name == "torch.Size" else UNKNOWN
    if name.startswith("torch.nn."):
        return _module(node, name, given)
    return _torch_function(evaluator, name, given)


def _torch_function(evaluator: Evaluator, name: str, given: Given) -> Value:
    """``torch.cat``, ``torch.max`` and so on: the method of the same name, on the first tensor."""
    last = name.rpartition(".")[2]
    combined = _combined(evaluator, given)
    if combined.kind is not Kind.TENSOR:
        return UNKNOWN
    several = last in torch_methods.TUPLES or (
        last in torch_methods.PAIRS_WITH_DIM
        and ("dim" in given.named or (len(given.positional) > 1 and not given.positional[1].is_tensor))
    )
    if several or (last == "where" and len(given.all) == 1):
        return domain.sequence(combined)
    if last in torch_methods.REDUCTIONS and len(given.all) == 1:
        return domain.tensor(
            combined.place, combined.like, 0, "torch.bool" if last in torch_methods.PREDICATES else None
        )
    if last in torch_methods.PREDICATES:
        return domain.tensor(combined.place, combined.like, combined.ndim, "torch.bool")
    if last in torch_methods.INTEGER_RESULTS:
        return domain.tensor(combined.place, combined.like, None, "torch.int64")
    held = given.positional[0] if given.positional else UNKNOWN
    dtype = held.dtype if held.is_tensor and last in _KEEPS_DTYPE else None
    return domain.tensor(combined.place, combined.like, combined.ndim, dtype)


def _combined(evaluator: Evaluator, given: Given, ndim: int | None = None) -> Value:
    """A tensor where the tensors among the arguments live; unknown ones may live anywhere."""
    tensors = given.tensors
    first = given.positional[0] if given.positional else None
    if not tensors:
        unknown = first is not None and first.kind in {Kind.UNKNOWN, Kind.SEQUENCE}
        return evaluator.placed(domain.tensor(ndim=ndim)) if unknown else UNKNOWN
    doubtful = [value for value in given.all if value.kind is Kind.UNKNOWN]
    combined = domain.combine([*tensors, *doubtful])
    if ndim is None:
        return combined
    return domain.tensor(combined.place, combined.like, ndim)


def _factory(evaluator: Evaluator, node: ast.Call, name: str, given: Given) -> Value:
    factory = torch_factories.FACTORIES[name]
    place, like = evaluator.default_place, None
    if factory.from_data and given.positional:
        data = given.positional[0]
        if data.is_tensor:
            place, like = data.place, data.like
        elif data.kind is Kind.UNKNOWN and name != "torch.tensor":
            # as_tensor hands a tensor on as it is; torch.tensor of one only warns and is rare.
            place = Place.UNKNOWN
    made = _made(evaluator, given, place, like, _ndim(factory.shape, node, given), factory.dtype)
    return made.with_(qualified=name, origin=node)


def _made(
    evaluator: Evaluator, given: Given, place: Place, like: str | None, ndim: int | None, dtype: str | None
) -> Value:
    """A new tensor: where its ``device`` says, else where it is built by default."""
    device = None
    named = given.keyword("device")
    if named is not None:
        node, value = named
        chosen, chosen_like = _device(node, value)
        if chosen is not None:
            place, like, device = chosen, chosen_like, dotted(node)
    elif given.has_unpacking:
        place, like = Place.UNKNOWN, None
    wanted = given.named.get("dtype")
    if wanted is not None:
        dtype = wanted.constant if isinstance(wanted.constant, str) else None
    made = domain.tensor(place, like, ndim, dtype, device)
    pinned = given.named.get("pin_memory")
    return made.with_(pinned=True) if pinned is not None and pinned.constant is True else made


def _ndim(shape: Shape, node: ast.Call, given: Given) -> int | None:
    if shape is Shape.VECTOR:
        return 1
    if shape is Shape.MATRIX:
        return 2
    if shape is Shape.SCALAR:
        return 0
    if shape is Shape.DATA:
        return _data_ndim(node, given)
    if shape is Shape.FIRST or (shape is Shape.SIZE and _is_size(given)):
        size = node.args[0] if node.args else None
        return len(size.elts) if isinstance(size, ast.Tuple | ast.List) else None
    if shape is Shape.SIZE:
        plain = not any(isinstance(argument, ast.Starred) for argument in node.args)
        return len(node.args) if plain and node.args and _all_numbers(given) else None
    return None


def _is_size(given: Given) -> bool:
    return len(given.positional) == 1 and given.positional[0].kind is Kind.SEQUENCE


def _all_numbers(given: Given) -> bool:
    return all(value.kind is Kind.NUMBER for value in given.positional) or len(given.positional) > 1


def _data_ndim(node: ast.Call, given: Given) -> int | None:
    """The depth of nested lists of numbers."""
    data = node.args[0] if node.args else None
    depth = 0
    while isinstance(data, ast.List | ast.Tuple):
        depth += 1
        data = data.elts[0] if data.elts else None
    if depth:
        return depth
    return 0 if given.positional and given.positional[0].kind is Kind.NUMBER else None


def _device_made(given: Given) -> Value:
    first = given.positional[0] if given.positional else given.named.get("type", UNKNOWN)
    if first.kind is Kind.DEVICE:
        return first
    if first.kind is Kind.NUMBER:
        return Value(Kind.DEVICE, Place.ACCELERATOR)
    place = domain.device_string(first.constant) if first.kind is Kind.STRING else None
    if place is None and isinstance(first.constant, str):
        return Value(Kind.DEVICE, Place.UNKNOWN)
    return Value(Kind.DEVICE, place or Place.LIKELY_ACCELERATOR)


def _module(node: ast.Call, name: str, given: Given) -> Value:
    if name in torch_functions.PARAMETER_CONTAINERS:
        return domain.sequence(domain.tensor())
    if not name.rpartition(".")[2][:1].isupper():
        return UNKNOWN
    element = Value(Kind.MODULE) if name in torch_functions.CONTAINERS else None
    reduction = given.named.get("reduction")
    return Value(
        Kind.MODULE, qualified=name, origin=node, element=element,
        constant=reduction.constant if reduction is not None else None,
    )  # fmt: skip


def _loader(given: Given) -> Value:
    """Batches come from host memory; of which tensors they are made is not known, but that they are is."""
    dataset = given.positional[0] if given.positional else given.named.get("dataset", UNKNOWN)
    pinned = given.named.get("pin_memory")
    batch = Value(
        Kind.TENSOR, Place.CPU, pinned=True if pinned is not None and pinned.constant is True else None
    )
    return Value(
        Kind.LOADER, qualified="torch.utils.data.DataLoader", origin=given.node,
        element=Value(Kind.SEQUENCE, element=batch, qualified=dataset.qualified),
    )  # fmt: skip


def _dataset_element(given: Given) -> Value | None:
    return given.positional[0].element if given.positional else None


def checked_type(evaluator: Evaluator, test: ast.Call, env: Env) -> Value:
    """What ``isinstance(x, T)`` or ``torch.is_tensor(x)`` says of its first argument."""
    function = evaluator.values.get(test.func, UNKNOWN)
    if function.qualified == "torch.is_tensor":
        return domain.tensor()
    if _name_of(test.func) != "isinstance" or len(test.args) != 2:
        return UNKNOWN
    wanted = test.args[1]
    types = wanted.elts if isinstance(wanted, ast.Tuple) else [wanted]
    return domain.join_all([_type_value(evaluator, node, env) for node in types]) or UNKNOWN


def _type_value(evaluator: Evaluator, node: ast.expr, env: Env) -> Value:
    name = _name_of(node)
    if name == "Tensor":
        return domain.tensor()
    if name in {"int", "float", "bool", "complex", "Number"}:
        return domain.NUMBER
    if name in {"list", "tuple", "dict", "Sequence", "Mapping"}:
        return domain.SEQUENCE
    return {"str": domain.STRING, "ndarray": domain.NDARRAY, "Module": Value(Kind.MODULE)}.get(name, UNKNOWN)


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name_of(node.value)
    return node.id if isinstance(node, ast.Name) else ""
