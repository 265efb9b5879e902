"""Where ``.to``, ``.cuda`` and ``device=`` put things."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from warplint.source.records import dataclass
from warplint.static import domain
from warplint.static.inference.arguments import Given
from warplint.static.parsing.tree import dotted, last_name
from warplint.static.tables import naming, torch_factories
from warplint.static.values import UNKNOWN, Kind, Place, Value


@dataclass(frozen=True, slots=True)
class Destination:
    """Where something is put: ``place`` is None where it stays. ``device`` is the device's source text."""

    place: Place | None = None
    like: str | None = None
    device: str | None = None
    dtype: str | None = None


def device(node: ast.expr, value: Value) -> Destination:
    """Where a device expression points."""
    if value.kind is Kind.DEVICE:
        place = Place.LIKELY_ACCELERATOR if value.place is Place.UNKNOWN else value.place
        return Destination(place, value.like, dotted(node))
    if value.kind is Kind.STRING:
        named = domain.device_string(value.constant) or Place.LIKELY_ACCELERATOR
        return Destination(named, None, dotted(node))
    if value.kind is Kind.NUMBER:
        return Destination(Place.ACCELERATOR, None, dotted(node))
    name = last_name(node)
    if value.kind is Kind.NONE or naming.DTYPE_NAME.fullmatch(name):
        return Destination()
    if naming.DEVICE_NAME.fullmatch(name):
        return Destination(Place.LIKELY_ACCELERATOR, None, dotted(node))
    return Destination(Place.UNKNOWN, None, dotted(node))


def destination(given: Given, values: Mapping[ast.AST, Value]) -> Destination:
    """Where ``.to(…)`` leads: to a device, beside another tensor, or only to another dtype."""
    node = given.node
    found = Destination()
    named = [(word.arg, word.value) for word in node.keywords if word.arg in {"device", "dtype", "other"}]
    for role, argument in [*((None, argument) for argument in node.args), *named]:
        value = values.get(argument, UNKNOWN)
        if value.kind is Kind.DTYPE or role == "dtype":
            found = Destination(found.place, found.like, found.device, _text(value.constant))
        elif value.is_tensor:
            place = Place.LIKELY_ACCELERATOR if value.place is Place.UNKNOWN else value.place
            found = Destination(place, value.like or dotted(argument), None, value.dtype)
        elif found.place is None and not _is_flag(value):
            chosen = device(argument, value)
            found = Destination(chosen.place, chosen.like, chosen.device, found.dtype)
    if given.has_unpacking and found.place is None:
        # ``.to(**factory_options)`` is how a device and a dtype travel together.
        return Destination(Place.LIKELY_ACCELERATOR)
    return found


def moved(name: str, held: Value, given: Given, values: Mapping[ast.AST, Value]) -> Value:
    """A tensor after ``.to``, ``.cuda``, ``.cpu``, ``.type_as``, ``.type`` or ``.pin_memory``."""
    if name == "cpu":
        return domain.tensor(Place.CPU, None, held.ndim, held.dtype)
    if name == "pin_memory":
        return domain.tensor(held.place, held.like, held.ndim, held.dtype).with_(pinned=True)
    if name == "type_as":
        other = given.first or UNKNOWN
        return domain.tensor(other.place, other.like, held.ndim, other.dtype)
    if name == "type":
        return _retyped(held, given)
    if name != "to":
        return domain.tensor(Place.ACCELERATOR, None, held.ndim, held.dtype)
    target = destination(given, values)
    if target.place is None:
        return domain.tensor(held.place, held.like, held.ndim, target.dtype, held.device)
    return domain.tensor(target.place, target.like, held.ndim, target.dtype or held.dtype, target.device)


def _retyped(held: Value, given: Given) -> Value:
    """``.type(torch.cuda.FloatTensor)`` moves; ``.type(torch.float32)`` does not."""
    wanted = given.first or UNKNOWN
    name = _text(wanted.constant) or wanted.qualified or ""
    if not name.endswith("Tensor"):
        return domain.tensor(held.place, held.like, held.ndim, name or None, held.device)
    place = Place.ACCELERATOR if ".cuda." in name else Place.CPU
    dtype = torch_factories.LEGACY.get(f"torch.{name.rpartition('.')[2]}")
    return domain.tensor(place, None, held.ndim, dtype)


def _is_flag(value: Value) -> bool:
    return value.kind is Kind.NUMBER and isinstance(value.constant, bool)


def _text(constant: object) -> str | None:
    return constant if isinstance(constant, str) else None
