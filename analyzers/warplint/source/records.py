"""``dataclass`` for what a command imports before it has done anything.

The standard one compiles six methods for every class as it is defined, and imports ``inspect``: that was
most of the time a small file took. This one compiles ``__init__`` alone, for the first instance. What a class
may say of its fields is the same, and a type checker treats it the same; that a frozen one does not change
is left to that type checker, so that making one costs as little as making any object.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        return lambda decorator: decorator


Record = TypeVar("Record")
_ABSENT: Any = object()


class Field:
    """What a class says of a field beyond its type and a plain default."""

    __slots__ = ("compare", "default", "default_factory", "init")

    def __init__(
        self, default: Any, default_factory: Callable[[], Any] | None, init: bool, compare: bool
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.compare = compare


def field(
    *,
    default: Any = _ABSENT,
    default_factory: Callable[[], Any] | None = None,
    init: bool = True,
    compare: bool = True,
) -> Any:
    """A field that has a fresh value in each instance, is set later, or does not count in comparisons."""
    return Field(default, default_factory, init, compare)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, order: bool = False
) -> Callable[[type[Record]], type[Record]]:
    """``dataclasses.dataclass``, for classes whose bases have no fields."""

    def decorate(cls: Any) -> Any:
        fields = {
            name: _as_field(vars(cls).get(name, _ABSENT))
            for name, annotation in cls.__annotations__.items()
            if not annotation.startswith("ClassVar")
        }
        body: dict[str, Any] = {"__init__": _first_init, "__repr__": _repr, "__match_args__": tuple(fields)}
        if eq:
            key = attrgetter(*(name for name, field in fields.items() if field.compare))
            body |= {"_key": key, "__eq__": _eq, "__hash__": _hash if frozen else None}
        if order:
            body |= {"__lt__": _lt, "__le__": _le, "__gt__": _gt, "__ge__": _ge}
        if slots:
            body["__slots__"] = tuple(fields)
        own = {name: value for name, value in vars(cls).items() if name not in (*fields, *_OF_EACH_CLASS)}
        made: Any = type(cls)(cls.__name__, cls.__bases__, {**body, **own})
        made.__qualname__ = cls.__qualname__
        _uncompiled[made] = fields
        return made

    return decorate


def replace(record: Record, /, **changes: Any) -> Record:
    """A record like another but for some fields."""
    names = record.__match_args__  # type: ignore[attr-defined]
    return type(record)(**{name: getattr(record, name) for name in names} | changes)


_OF_EACH_CLASS = ("__dict__", "__weakref__")
_uncompiled: dict[type[Any], dict[str, Field]] = {}


def _as_field(value: Any) -> Field:
    return value if isinstance(value, Field) else Field(value, None, True, True)


def _first_init(self: Any, *values: Any, **named: Any) -> None:
    """The ``__init__`` of classes without an instance: makes the real one and calls it."""
    cls = next(base for base in type(self).__mro__ if base in _uncompiled)
    cls.__init__ = _compiled(cls, _uncompiled[cls])
    del _uncompiled[cls]
    cls.__init__(self, *values, **named)


def _compiled(cls: type[Any], fields: dict[str, Field]) -> Any:
    """An ``__init__`` with a parameter for each field, as one would write it."""
    parameters, statements = ["self"], []
    for name, field in fields.items():
        value = name
        if field.default_factory is not None:
            value = f"made[{name!r}]() if {name} is absent else {name}"
        if field.init:
            is_needed = field.default is _ABSENT and field.default_factory is None
            parameters.append(name if is_needed else f"{name}=defaults[{name!r}]")
            statements.append(f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        statements.append("self.__post_init__()")
    source = f"def __init__({', '.join(parameters)}):\n    " + "\n    ".join(statements)
    scope: dict[str, Any] = {
        "absent": _ABSENT,
        "defaults": {name: field.default for name, field in fields.items()},
        "made": {name: field.default_factory for name, field in fields.items()},
    }
    exec(source, scope)
    return scope["__init__"]


@recursive_repr()
def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({values})"


def _eq(self: Any, other: Any) -> Any:
    return self.__class__ is other.__class__ and self._key(self) == self._key(other)


def _hash(self: Any) -> int:
    return hash(self._key(self))


def _lt(self: Any, other: Any) -> Any:
    return self._key(self) < self._key(other)


def _le(self: Any, other: Any) -> Any:
    return self._key(self) <= self._key(other)


def _gt(self: Any, other: Any) -> Any:
    return self._key(self) > self._key(other)


def _ge(self: Any, other: Any) -> Any:
    return self._key(self) >= self._key(other)
