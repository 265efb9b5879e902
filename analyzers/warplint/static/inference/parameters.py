"""What a function's parameters are, from annotations, defaults, callers, names and use."""

from __future__ import annotations

import ast

from warplint.static import domain
from warplint.static.annotations import annotated
from warplint.static.inference.evidence import Evidence
from warplint.static.parsing.blocks import FunctionOutline
from warplint.static.parsing.tree import has_decorator, with_defaults
from warplint.static.tables import frequency, naming
from warplint.static.values import UNKNOWN, Kind, Place, Value


def value_of(
    argument: ast.arg, default: ast.expr | None, given: Value | None, known: Evidence, forward: bool
) -> Value:
    """The value of one parameter. ``given``: what callers hand it; ``forward``: it is a module's input."""
    promised = annotated(argument.annotation)
    if given is not None and given.kind is Kind.NONE and promised.kind in _LEFT_TO_TORCH:
        return given
    if promised.kind is not Kind.UNKNOWN:
        return given if given is not None and given.kind is promised.kind else promised
    if given is not None and given.kind is not Kind.UNKNOWN:
        return given
    literal = domain.of_constant(default.value) if isinstance(default, ast.Constant) else UNKNOWN
    if literal.kind in (Kind.NUMBER, Kind.STRING):
        # An annotation that promises no one kind, as `int | list[int]`, admits more than the default.
        return Value(literal.kind) if argument.annotation is None else UNKNOWN
    name = argument.arg
    if name in known.strong:
        return domain.tensor()
    if forward and name not in known.against and _may_be_tensor(name, default):
        is_bundle = name in known.unpacked and not naming.TENSOR_PARAMETER.fullmatch(name)
        return domain.sequence(domain.tensor()) if is_bundle else domain.tensor()
    return _by_name(name)


def entering_autograd(function: FunctionOutline) -> frozenset[str]:
    """The parameters of an autograd function that are tensors: gradients, and inputs of telling names.

    What else ``forward`` takes are mostly numbers and flags. The first parameter is the context, which
    ``forward`` has not beside ``setup_context`` (PyTorch's notes on extending torch.autograd).
    """
    owner = function.class_
    if owner is None or function.name not in {"forward", "backward"}:
        return frozenset()
    names = [argument.arg for argument, _ in with_defaults(function.node.args)]
    if function.name == "backward":
        return frozenset(names[1:])
    inputs = names if "setup_context" in owner.methods else names[1:]
    return frozenset(name for name in inputs if naming.TENSOR_PARAMETER.fullmatch(name))


def on_entry(value: Value, name: str, likely: bool) -> Value:
    """A parameter's value inside the function: ``likely`` says that unpinned ones are on the accelerator."""
    unplaced = value.place is Place.UNKNOWN and likely
    place = Place.LIKELY_ACCELERATOR if unplaced else value.place
    if value.is_tensor:
        return value.with_(place=place, like=name, origin=None)
    if value.kind is Kind.SEQUENCE and value.element is not None and value.element.is_tensor and likely:
        held = value.element
        return value if held.place is not Place.UNKNOWN else value.with_(element=held.with_(place=place))
    return value.with_(place=place) if value.kind is Kind.MODULE and unplaced else value


def _may_be_tensor(name: str, default: ast.expr | None) -> bool:
    """Whether a module's input is a tensor by name: one that has a default needs a telling name."""
    if naming.TENSOR_PARAMETER.fullmatch(name):
        return True
    return default is None and not naming.OTHER_PARAMETER.fullmatch(name)


def _by_name(name: str) -> Value:
    if name in {"device", "dev"}:
        return domain.LIKELY_DEVICE
    if frequency.LOADER.fullmatch(name):
        batch = domain.sequence(domain.tensor()).with_(constant=domain.BATCH)
        return Value(Kind.LOADER, element=batch)
    if naming.LOSS.fullmatch(name) and name in {"loss_fn", "loss_func", "loss_function"}:
        return Value(Kind.MODULE)
    if name in {"model", "net", "network", "criterion", "module"}:
        return Value(Kind.MODULE)
    return UNKNOWN


_LEFT_TO_TORCH = frozenset({Kind.UNKNOWN, Kind.DEVICE, Kind.DTYPE})
"""What a parameter may be promised to be for which None means that PyTorch chooses."""


def left_out(function: FunctionOutline, call: ast.Call) -> set[str]:
    """The devices and element types that are None since a call surely does not hand them over."""
    is_open = any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        word.arg is None for word in call.keywords
    )
    if is_open:
        return set()
    return {
        argument.arg
        for argument, default in with_defaults(function.node.args)
        if argument.arg in {"device", "dtype"} and isinstance(default, ast.Constant) and default.value is None
    }


def matched(function: FunctionOutline, call: ast.Call) -> dict[str, ast.expr]:
    """Which argument of a call goes to which parameter, as far as it is written out."""
    names = [argument.arg for argument in [*function.node.args.posonlyargs, *function.node.args.args]]
    if function.class_ is not None and not has_decorator(function.node, "staticmethod"):
        names = names[1:]
    found: dict[str, ast.expr] = {}
    for name, argument in zip(names, call.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        found[name] = argument
    found.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None})
    return found
