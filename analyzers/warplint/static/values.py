"""What the engine knows of an expression's value without running it."""

from __future__ import annotations

import ast
import enum
from operator import attrgetter

from warplint.source.records import dataclass, field


class Kind(enum.Enum):
    """What a value is; UNKNOWN makes every rule silent."""

    # The members are singletons: hashing them by identity is several times faster than by name.
    __hash__ = object.__hash__

    UNKNOWN = "unknown"
    TENSOR = "tensor"
    NUMBER = "number"
    STRING = "string"
    NONE = "none"
    NDARRAY = "ndarray"
    SEQUENCE = "sequence"
    """list, tuple, dict or set; ``element`` says of what, where known."""
    MODULE = "module"
    OPTIMIZER = "optimizer"
    LOADER = "loader"
    DATASET = "dataset"
    DEVICE = "device"
    DTYPE = "dtype"
    CALLABLE = "callable"


class Place(enum.Enum):
    """Where a tensor's data lives."""

    __hash__ = object.__hash__

    UNKNOWN = "unknown"
    CPU = "cpu"
    """Proven: nothing could have put it elsewhere."""
    ACCELERATOR = "accelerator"
    """Proven: a literal device, ``.cuda()``, or something that lives there."""
    LIKELY_ACCELERATOR = "likely accelerator"
    """Hot model or step code that nothing pins to the CPU, or moved to a device held in a variable."""


@dataclass(frozen=True, slots=True)
class Value:
    """An abstract value.

    ``like`` names the expression whose device this shares (``x`` for ``torch.zeros_like(x)`` or
    ``t.to(x.device)``). ``ndim`` 0 means a scalar tensor. ``origin`` is the expression that made it.
    ``pinned`` is page-locked host memory. ``element`` is what iterating yields, ``elements`` the parts of a
    sequence of known length. ``dtype`` is a qualified name
    (``torch.float32``). ``device`` is the source text that names the device a value was moved to or made on.
    ``qualified`` is the imported name the value is, or the class it is an instance of.
    """

    kind: Kind = Kind.UNKNOWN
    place: Place = Place.UNKNOWN
    like: str | None = None
    ndim: int | None = None
    dtype: str | None = None
    requires_grad: bool | None = None
    pinned: bool | None = None
    device: str | None = None
    qualified: str | None = None
    constant: object = None
    origin: ast.expr | None = field(default=None, compare=False)
    element: Value | None = None
    elements: tuple[Value, ...] | None = None

    @property
    def is_tensor(self) -> bool:
        return self.kind is Kind.TENSOR

    @property
    def on_cpu(self) -> bool:
        return self.kind is Kind.TENSOR and self.place is Place.CPU

    @property
    def on_accelerator(self) -> bool:
        return self.kind is Kind.TENSOR and self.place in (Place.ACCELERATOR, Place.LIKELY_ACCELERATOR)

    def with_(self, **changes: object) -> Value:
        made = Value(*_fields_of(self))
        for name, value in changes.items():
            setattr(made, name, value)
        return made


_fields_of = attrgetter(*Value.__match_args__)

UNKNOWN = Value()
