"""What Python's own functions and types give.

Source: the Python library reference, and NumPy's for the methods of arrays.
"""

from __future__ import annotations

from warplint.static import domain
from warplint.static.tables.words import words
from warplint.static.values import Kind, Value

_NUMBERS = words(
    "int float bool complex len round ord hash id isinstance hasattr issubclass callable any all"
)

RESULTS = {
    **dict.fromkeys(_NUMBERS, domain.NUMBER),
    **dict.fromkeys(("str", "repr", "format", "chr", "input"), domain.STRING),
    "range": domain.SHAPE,
}
"""Built-in functions that always give the same kind."""

ITERATORS = frozenset({"enumerate", "zip", "iter", "reversed", "sorted", "map", "filter"})
COLLECTIONS = frozenset({"list", "tuple", "set", "frozenset"})

ARRAY_METHODS = {"item": domain.NUMBER, "tolist": domain.SHAPE}
"""Methods of NumPy arrays that give no array."""

ARRAY_ATTRIBUTES = {"shape": domain.SHAPE, **dict.fromkeys(("T", "real", "imag", "flat"), domain.NDARRAY)}
"""Attributes of NumPy arrays that are no numbers."""

STRING_METHODS = dict.fromkeys(("find", "count", "index", "startswith", "endswith"), domain.NUMBER)
"""Methods of strings that give no string."""

TYPES = {
    "Tensor": domain.tensor(),
    **dict.fromkeys(("int", "float", "bool", "complex", "Number"), domain.NUMBER),
    **dict.fromkeys(("list", "tuple", "dict", "Sequence", "Mapping"), domain.SEQUENCE),
    "str": domain.STRING,
    "ndarray": domain.NDARRAY,
    "Module": Value(Kind.MODULE),
}
"""Types that ``isinstance`` is asked for."""
