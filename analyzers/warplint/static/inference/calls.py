"""What calls give: methods, modules, built-in functions and the project's own functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static import domain
from warplint.static.inference import moves, python, tensor_methods, torch_calls
from warplint.static.inference.arguments import Given
from warplint.static.parsing.tree import last_name
from warplint.static.tables import frequency, naming, torch_functions, torch_methods
from warplint.static.values import UNKNOWN, Kind, Place, Value

if TYPE_CHECKING:
    from warplint.static.inference.evaluate import Env, Evaluator


def result(evaluator: Evaluator, node: ast.Call, env: Env) -> Value:
    """What a call gives."""
    function = node.func
    is_builtin = evaluator.is_builtin(function, env)
    called = UNKNOWN if is_builtin else evaluator.value(function, env)
    for argument in node.args:
        evaluator.value(argument, env)
    for keyword in node.keywords:
        evaluator.value(keyword.value, env)
    given = Given(node, evaluator.values)
    if is_builtin:
        return _builtin(last_name(function), given)
    if isinstance(function, ast.Attribute) and (called.qualified is None or called.kind is not Kind.UNKNOWN):
        found = _method(evaluator, function, called, given)
        if found is not None:
            return found
    return _called(evaluator, node, called, given)


def _called(evaluator: Evaluator, node: ast.Call, called: Value, given: Given) -> Value:
    """The result of calling a value that is no method of a known kind."""
    if called.kind is Kind.MODULE:
        return _run_module(evaluator, called, given)
    if called.kind is Kind.CALLABLE:
        if called.qualified is not None:
            if node is evaluator.dropped:
                # Nobody asks what it gives, so the function need not be followed.
                return UNKNOWN
            known = evaluator.world.returned(called.qualified, node, evaluator.values)
            if evaluator.on_host and known.place is Place.LIKELY_ACCELERATOR:
                # Where it is handed tensors of the host, as here, it gives others.
                return known.with_(place=Place.UNKNOWN)
            return evaluator.placed(known) if domain.is_abroad(called.qualified) else known
        return called.element or UNKNOWN
    name = last_name(node.func)
    if called.qualified is not None:
        if domain.is_defined(called.qualified):
            if called.constant == domain.CLASS:
                return evaluator.world.instance(called.qualified)
            return evaluator.world.returned(f"{called.qualified}.__call__", node, evaluator.values)
        given = _with_tensor(evaluator, node, called.qualified, given)
        found = torch_calls.result(evaluator, called.qualified, given)
        if found is not None:
            return found
        name = called.qualified.rpartition(".")[2]
    if name in frequency.WRAPPERS and given.positional:
        return _iterated(name, given)
    if given.named.get("return_tensors", UNKNOWN).constant == "pt":
        # Tokenizers and processors of Transformers work on the host.
        return domain.mapping(domain.tensor(Place.CPU))
    is_handed = bool(given.tensors) or _hands_model_inputs(node)
    if called.qualified is None and is_handed and _is_likely_module(evaluator, node.func, name):
        return _run_module(evaluator, Value(Kind.MODULE), given)
    return UNKNOWN


def _with_tensor(evaluator: Evaluator, node: ast.Call, called: str, given: Given) -> Given:
    """The arguments, of which the first is a tensor where a function takes nothing else."""
    space, _, name = called.rpartition(".")
    is_taker = space in torch_functions.TAKING_SPACES and name in torch_functions.TAKES_TENSOR
    if not is_taker or not node.args:
        return given
    first = evaluator.values[node.args[0]]
    if first.kind is not Kind.UNKNOWN or first.qualified is not None or isinstance(node.args[0], ast.Starred):
        return given
    evaluator.values[node.args[0]] = evaluator.placed(domain.tensor())
    return Given(node, evaluator.values)


def _is_likely_module(evaluator: Evaluator, function: ast.expr, name: str) -> bool:
    """An unknown callable that is named like a model, or is held by a module: most likely a module."""
    if frequency.MODEL.fullmatch(name) or naming.LOSS.fullmatch(name) or name == "criterion":
        return True
    owner = evaluator.owner
    if owner is None or not evaluator.likely or not isinstance(function, ast.Attribute):
        return False
    is_own = isinstance(function.value, ast.Name) and function.value.id == "self"
    return is_own and "__init__" in owner.stores.get(name, ())


def _hands_model_inputs(node: ast.Call) -> bool:
    """Whether a call is handed a batch as models of Transformers are: by their names for it, or unpacked."""
    if not frequency.MODEL.fullmatch(last_name(node.func)):
        return False
    return any(word.arg is None or word.arg in naming.INPUT_FIELDS for word in node.keywords)


def _run_module(evaluator: Evaluator, module: Value, given: Given) -> Value:
    """Modules give tensors where they live, which is where their input must live too."""
    if module.qualified is not None and domain.is_defined(module.qualified):
        known = evaluator.world.returned(f"{module.qualified}.forward", given.node, evaluator.values)
        if known.kind not in (Kind.UNKNOWN, Kind.TENSOR):
            return known
        if known.kind is Kind.UNKNOWN and domain.is_abroad(module.qualified) and not given.tensors:
            # It was read, and may give anything: a dictionary in one case and a tuple in another.
            return UNKNOWN
    combined = domain.combine(given.tensors)
    like = combined.like if combined.is_tensor else None
    is_loss = module.qualified is not None and module.qualified.endswith("Loss")
    ndim = 0 if is_loss and module.constant != "none" else None
    if module.place is not Place.UNKNOWN:
        return domain.tensor(module.place, like, ndim)
    place = combined.place if combined.is_tensor else Place.UNKNOWN
    return evaluator.placed(domain.tensor(place, like, ndim))


# Methods


def _method(evaluator: Evaluator, function: ast.Attribute, called: Value, given: Given) -> Value | None:
    """The result of a method of a known kind; None where the receiver says nothing."""
    name = function.attr
    receiver = evaluator.values[function.value]
    if receiver.kind is Kind.UNKNOWN and receiver.qualified is None and _shows_tensor(function, given):
        receiver = evaluator.placed(domain.tensor())
        evaluator.values[function.value] = receiver
    if receiver.is_tensor:
        if name in torch_methods.NEW:
            return torch_calls.made(given, receiver.place, receiver.like, None, None)
        return tensor_methods.result(name, receiver, given, evaluator.values)
    if receiver.kind is Kind.MODULE:
        return _module_method(evaluator, name, receiver, called, given)
    if receiver.kind is Kind.SEQUENCE:
        return _sequence_method(evaluator, name, receiver, given)
    if receiver.kind is Kind.NDARRAY:
        return python.ARRAY_METHODS.get(name, domain.NDARRAY)
    if receiver.kind is Kind.STRING:
        return python.STRING_METHODS.get(name, domain.STRING)
    if receiver.kind in (Kind.NUMBER, Kind.NONE, Kind.DTYPE, Kind.DEVICE):
        return UNKNOWN
    if receiver.kind is Kind.UNKNOWN and receiver.qualified is None and name == "numpy" and not given.all:
        return domain.NDARRAY
    return None


def _shows_tensor(method: ast.Attribute, given: Given) -> bool:
    """Whether a method shows that what it is called on is a tensor.

    Arrays have axes, and the dimensions of xarray are named.
    """
    if method.attr in torch_methods.TENSOR_ONLY:
        return True
    if method.attr in torch_methods.REDUCTIONS and given.named.get("dim", UNKNOWN).kind is Kind.NUMBER:
        return True
    is_data = isinstance(method.value, ast.Attribute) and method.value.attr == "data"
    return is_data and method.attr in torch_methods.OF_DATA


def _module_method(
    evaluator: Evaluator, name: str, module: Value, called: Value, given: Given
) -> Value | None:
    if called.kind in (Kind.CALLABLE, Kind.MODULE):
        return None
    if name == "to":
        target = moves.destination(given, evaluator.values)
        return module if target.place is None else module.with_(place=target.place, device=target.device)
    if name in torch_methods.MOVES:
        return module.with_(place=Place.CPU if name == "cpu" else Place.ACCELERATOR)
    if name in torch_methods.SAME_MODULE:
        return module
    if name in torch_methods.PARAMETER_LISTS:
        return domain.sequence(_parameter(evaluator, module))
    if name in torch_methods.NAMED_PARAMETER_LISTS:
        return domain.sequence(domain.parts([domain.STRING, _parameter(evaluator, module)]))
    if name in torch_methods.MODULE_LISTS:
        return domain.sequence(Value(Kind.MODULE))
    is_own = module.qualified is not None and domain.is_defined(module.qualified)
    if name == "forward" or (given.tensors and not is_own):
        return _run_module(evaluator, module.with_(qualified=None), given)
    return None


def _parameter(evaluator: Evaluator, module: Value) -> Value:
    return evaluator.placed(domain.tensor(module.place))


def _sequence_method(evaluator: Evaluator, name: str, held: Value, given: Given) -> Value:
    element = held.element
    if name in {"get", "pop", "setdefault"}:
        return element or UNKNOWN
    if name == "copy":
        return held
    if name == "values":
        return domain.sequence(element)
    if name == "items":
        return domain.sequence(domain.parts([UNKNOWN, element or UNKNOWN]))
    if name == "keys":
        return domain.SEQUENCE
    if name in {"index", "count", "numel"}:
        return domain.NUMBER
    if name in torch_methods.MOVES and element is not None and element.is_tensor:
        # Batches of Transformers, PyG and TensorDict move as one.
        return domain.sequence(moves.moved(name, element, given, evaluator.values))
    return UNKNOWN


# Built-in functions


def _builtin(name: str, given: Given) -> Value:
    if name in python.RESULTS:
        return python.RESULTS[name]
    first = given.first or UNKNOWN
    if name in python.ITERATORS:
        return _iterated(name, given)
    if name in python.COLLECTIONS:
        is_plain = first.kind is Kind.SEQUENCE and first.qualified != domain.MAPPING
        return first if is_plain else domain.sequence(domain.iterated(first))
    if name in {"next", "sum"}:
        return domain.iterated(first)
    if name in {"max", "min"} and len(given.positional) == 1:
        return domain.iterated(first)
    if name in {"max", "min", "abs", "pow"}:
        return domain.combine(given.positional)
    if name == "dict":
        return domain.mapping(domain.join_all(list(given.named.values())))
    return UNKNOWN


def _iterated(name: str, given: Given) -> Value:
    """``enumerate``, ``zip`` and the wrappers that hand on what they are given."""
    first = given.first or UNKNOWN
    if name == "enumerate":
        return domain.sequence(domain.parts([domain.NUMBER, domain.iterated(first)]))
    if name == "zip":
        return domain.sequence(domain.parts(map(domain.iterated, given.positional)))
    if name == "map":
        return domain.sequence(first.element if first.kind is Kind.CALLABLE else None)
    if name == "filter":
        return given.positional[1] if len(given.positional) > 1 else UNKNOWN
    return domain.SHAPE if name == "trange" else first


def checked_type(evaluator: Evaluator, test: ast.Call) -> Value:
    """What ``isinstance(x, T)`` or ``torch.is_tensor(x)`` says of its first argument."""
    if evaluator.values.get(test.func, UNKNOWN).qualified == "torch.is_tensor":
        return domain.tensor()
    if last_name(test.func) != "isinstance" or len(test.args) != 2:
        return UNKNOWN
    wanted = test.args[1]
    types = wanted.elts if isinstance(wanted, ast.Tuple) else [wanted]
    return domain.join_all([python.TYPES.get(last_name(node), UNKNOWN) for node in types]) or UNKNOWN
