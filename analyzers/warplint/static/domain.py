"""The algebra of abstract values: making them, joining branches, combining operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from warplint.static.tables import naming
from warplint.static.tables.words import words
from warplint.static.values import UNKNOWN, Kind, Place, Value

NUMBER = Value(Kind.NUMBER)
STRING = Value(Kind.STRING)
NONE = Value(Kind.NONE, constant=None)
NDARRAY = Value(Kind.NDARRAY)
SEQUENCE = Value(Kind.SEQUENCE)
SHAPE = Value(Kind.SEQUENCE, element=NUMBER)
DTYPE = Value(Kind.DTYPE)
CALLABLE = Value(Kind.CALLABLE)
LIKELY_DEVICE = Value(Kind.DEVICE, Place.LIKELY_ACCELERATOR)

CLASS = "class"
"""The ``constant`` of a value that is a class of the project, not an instance of it."""

BATCH = "batch"
"""The ``constant`` of what a loader yields: a nest of tensors, or one of them."""

MAPPING = "builtins.dict"

THIS_FILE = "<this>."
"""Prefix of the qualified names of what the analysed file defines itself."""


def is_defined(qualified: str) -> bool:
    """Whether a qualified name is that of something whose definition can be read, here or in another file."""
    return qualified.startswith("<")


def is_abroad(qualified: str) -> bool:
    """Whether it stands in another file of the project, or is one: ``<…/models/unet.py>.UNet``."""
    return qualified.startswith("<") and not qualified.startswith(THIS_FILE)


@lru_cache(maxsize=4096)
def tensor(
    place: Place = Place.UNKNOWN,
    like: str | None = None,
    ndim: int | None = None,
    dtype: str | None = None,
    device: str | None = None,
) -> Value:
    """A tensor of no known origin; equal ones are one object."""
    return Value(Kind.TENSOR, place, like, ndim, dtype, device=device)


@lru_cache(maxsize=4096)
def imported(name: str) -> Value:
    """What an imported name stands for, before anything is known of it but the name."""
    if name.startswith("torch.") and name.count(".") == 1 and name[6:] in _DTYPES:
        return Value(Kind.DTYPE, qualified=name, constant=name)
    return Value(qualified=name)


_DTYPES = words(
    """
    float32 float float64 double float16 half bfloat16 complex64 cfloat complex128 cdouble uint8 int8 int16
    short int32 int int64 long bool float8_e4m3fn float8_e5m2
    """
)


# Not cached: equal elements may have been made at different places, in different files.
def sequence(element: Value | None = None) -> Value:
    return Value(Kind.SEQUENCE, element=element)


def mapping(element: Value | None = None) -> Value:
    """A dictionary: a sequence that yields its keys when it is iterated."""
    return Value(Kind.SEQUENCE, qualified=MAPPING, element=element)


def parts(values: Iterable[Value]) -> Value:
    """A sequence whose parts are known."""
    elements = tuple(values)
    return Value(Kind.SEQUENCE, element=join_all(elements), elements=elements)


@lru_cache(maxsize=4096, typed=True)
def _literal(kind: Kind, value: object) -> Value:
    return Value(kind, constant=value)


_LITERAL_KINDS: dict[type[object], Kind] = {
    **dict.fromkeys((str, bytes), Kind.STRING),
    **dict.fromkeys((bool, int, float, complex), Kind.NUMBER),
}


def of_constant(value: object) -> Value:
    """The value of a literal."""
    if value is None:
        return NONE
    kind = _LITERAL_KINDS.get(type(value))
    return UNKNOWN if kind is None else _literal(kind, value)


def device_string(text: object) -> Place | None:
    """Where a device string points; None for a string that names no device."""
    if not isinstance(text, str):
        return None
    if text == "cpu" or text.startswith("cpu:"):
        return Place.CPU
    return Place.ACCELERATOR if text.startswith(naming.ACCELERATORS) else None


def join(one: Value, other: Value) -> Value:
    """What is known when a value is one or the other, as after an ``if``."""
    if one is other or one == other:
        return one
    if one.kind is Kind.NONE:
        return other
    if other.kind is Kind.NONE:
        return one
    if _is_device(one) and _is_device(other):
        return _join_devices(one, other)
    if one.kind is not other.kind or one.kind is Kind.UNKNOWN:
        return UNKNOWN
    return Value(
        one.kind,
        _join_places(one.place, other.place),
        one.like if one.like == other.like else None,
        one.ndim if one.ndim == other.ndim else None,
        one.dtype if one.dtype == other.dtype else None,
        device=one.device if one.device == other.device else None,
        qualified=one.qualified if one.qualified == other.qualified else None,
        constant=one.constant if one.constant == other.constant else None,
        origin=one.origin if one.origin is other.origin else None,
        element=join(one.element, other.element)
        if one.element and other.element
        else one.element or other.element,
    )


def _is_device(value: Value) -> bool:
    return value.kind is Kind.DEVICE or (
        value.kind is Kind.STRING and device_string(value.constant) is not None
    )


def _join_devices(one: Value, other: Value) -> Value:
    """``"cuda" if available else "cpu"``: a program that asks means to run on the accelerator."""
    places = {_device_place(one), _device_place(other)}
    if len(places) == 1:
        return Value(Kind.DEVICE, places.pop())
    return LIKELY_DEVICE


def _device_place(value: Value) -> Place:
    return value.place if value.kind is Kind.DEVICE else device_string(value.constant) or Place.UNKNOWN


def _join_places(one: Place, other: Place) -> Place:
    if one is other:
        return one
    if {one, other} == {Place.ACCELERATOR, Place.LIKELY_ACCELERATOR}:
        return Place.LIKELY_ACCELERATOR
    return Place.UNKNOWN


def join_all(values: Sequence[Value]) -> Value | None:
    """The join of several values; None of none."""
    if not values:
        return None
    joined = values[0]
    for value in values[1:]:
        joined = join(joined, value)
    return joined


def join_known(values: Sequence[Value]) -> Value | None:
    """The same, where one that is not known is taken for another of the same kind: an attribute that is set
    to a tensor stays one."""
    known = [value for value in values if value.kind is not Kind.UNKNOWN or value.qualified is not None]
    joined = join_all(known)
    if joined is None or len(known) == len(values) or joined.kind not in (Kind.TENSOR, Kind.MODULE):
        return join_all(values)
    on_accelerator = joined.place in (Place.ACCELERATOR, Place.LIKELY_ACCELERATOR)
    return Value(joined.kind, Place.LIKELY_ACCELERATOR if on_accelerator else Place.UNKNOWN)


def combine(operands: Iterable[Value]) -> Value:
    """What an operation on operands gives: a tensor if one of them is, on the device that they share."""
    operands = list(operands)
    tensors = [operand for operand in operands if operand.kind is Kind.TENSOR]
    if not tensors:
        return _combine_host(operands)
    if len(operands) == 1:
        only = tensors[0]
        return tensor(only.place, only.like, 0 if only.ndim == 0 else None)
    unknown = any(operand.kind is Kind.UNKNOWN for operand in operands)
    found = {operand.place for operand in tensors}
    place, like = Place.UNKNOWN, tensors[0].like
    for candidate in (Place.ACCELERATOR, Place.LIKELY_ACCELERATOR):
        if candidate in found:
            place = candidate
            like = next((t.like for t in tensors if t.on_accelerator and t.like is not None), None)
            break
    else:
        if found == {Place.CPU} and not unknown:
            place = Place.CPU
        elif found == {Place.CPU} and any(operand.ndim for operand in tensors):
            # With dimensions it can only be combined with what is on the CPU too: a number, another tensor.
            return tensor(Place.CPU, like, max(operand.ndim or 0 for operand in tensors))
    ndims = {operand.ndim for operand in tensors}
    return tensor(place, like, 0 if ndims == {0} and not unknown else None)


def _combine_host(operands: Iterable[Value]) -> Value:
    kinds = {operand.kind for operand in operands}
    if kinds <= {Kind.NUMBER}:
        return NUMBER
    if Kind.NDARRAY in kinds and Kind.UNKNOWN not in kinds:
        return NDARRAY
    if kinds == {Kind.STRING}:
        return STRING
    if Kind.SEQUENCE in kinds and kinds <= {Kind.SEQUENCE, Kind.NUMBER}:
        return join_all([operand for operand in operands if operand.kind is Kind.SEQUENCE]) or SEQUENCE
    return UNKNOWN


def iterated(value: Value) -> Value:
    """What iterating a value gives."""
    return UNKNOWN if value.qualified == MAPPING else element_of(value)


def element_of(value: Value) -> Value:
    """What indexing a value with one index gives."""
    if value.kind in (Kind.SEQUENCE, Kind.LOADER, Kind.MODULE, Kind.DATASET):
        return value.element or UNKNOWN
    if value.kind is Kind.TENSOR:
        ndim = value.ndim - 1 if value.ndim else None
        return tensor(value.place, value.like, ndim, value.dtype, value.device)
    if value.kind in (Kind.NDARRAY, Kind.STRING):
        return value
    return UNKNOWN


def coarse(value: Value) -> Value:
    """As much of a value as a function it is handed to can make use of: kind and place."""
    constant = value.constant if value.kind is Kind.STRING or value.qualified is not None else None
    return Value(
        value.kind,
        value.place,
        qualified=value.qualified,
        constant=constant,
        element=coarse(value.element) if value.element is not None else None,
        elements=tuple(map(coarse, value.elements)) if value.elements is not None else None,
    )


def anonymous(value: Value) -> Value:
    """A value without the names of the function it comes from."""
    if value.like is None and value.device is None and value.element is None and value.elements is None:
        return value
    return value.with_(
        like=None,
        device=None,
        element=anonymous(value.element) if value.element is not None else None,
        elements=tuple(map(anonymous, value.elements)) if value.elements is not None else None,
    )


def detached(value: Value) -> Value:
    """A value without what it has to do with this file, to be handed to a function of another one."""
    is_own = value.qualified is not None and value.qualified.startswith(THIS_FILE)
    if not is_own and value.element is None and value.elements is None:
        return value
    return value.with_(
        qualified=None if is_own else value.qualified,
        constant=None if is_own else value.constant,
        element=detached(value.element) if value.element is not None else None,
        elements=tuple(map(detached, value.elements)) if value.elements is not None else None,
    )
