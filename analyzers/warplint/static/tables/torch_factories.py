"""Functions that make a tensor from numbers or Python data: an argument or a default decides the device.

Source: the signatures in the PyTorch 2.x documentation. All of these take the device by keyword only. The
legacy constructors (torch.FloatTensor, torch.Tensor) take no CUDA device and stand in a table of their own.
"""

from __future__ import annotations

import enum

from warplint.source.records import dataclass


class Shape(enum.Enum):
    """Where the number of dimensions can be read."""

    SIZE = "positional sizes, or one tuple"
    FIRST = "the first argument is the size"
    VECTOR = "always one dimension"
    MATRIX = "always two dimensions"
    SCALAR = "always none"
    DATA = "that of the Python data handed over"
    UNKNOWN = "not from the arguments"


@dataclass(frozen=True, slots=True)
class Factory:
    """``device`` is the keyword that says where; ``from_data`` factories copy what they are handed."""

    shape: Shape
    dtype: str | None = None
    random: bool = False
    from_data: bool = False
    device: str = "device"


FACTORIES = {
    "torch.zeros": Factory(Shape.SIZE),
    "torch.ones": Factory(Shape.SIZE),
    "torch.empty": Factory(Shape.SIZE),
    "torch.full": Factory(Shape.FIRST),
    "torch.empty_strided": Factory(Shape.FIRST),
    "torch.rand": Factory(Shape.SIZE, random=True),
    "torch.randn": Factory(Shape.SIZE, random=True),
    "torch.randint": Factory(Shape.UNKNOWN, "torch.int64", random=True),
    "torch.randperm": Factory(Shape.VECTOR, "torch.int64", random=True),
    "torch.normal": Factory(Shape.UNKNOWN, random=True),
    "torch.arange": Factory(Shape.VECTOR),
    "torch.range": Factory(Shape.VECTOR),
    "torch.linspace": Factory(Shape.VECTOR),
    "torch.logspace": Factory(Shape.VECTOR),
    "torch.eye": Factory(Shape.MATRIX),
    "torch.tril_indices": Factory(Shape.MATRIX, "torch.int64"),
    "torch.triu_indices": Factory(Shape.MATRIX, "torch.int64"),
    "torch.scalar_tensor": Factory(Shape.SCALAR),
    "torch.hann_window": Factory(Shape.VECTOR),
    "torch.hamming_window": Factory(Shape.VECTOR),
    "torch.bartlett_window": Factory(Shape.VECTOR),
    "torch.blackman_window": Factory(Shape.VECTOR),
    "torch.kaiser_window": Factory(Shape.VECTOR),
    "torch.fft.fftfreq": Factory(Shape.VECTOR),
    "torch.fft.rfftfreq": Factory(Shape.VECTOR),
    "torch.tensor": Factory(Shape.DATA, from_data=True),
    "torch.as_tensor": Factory(Shape.DATA, from_data=True),
    "torch.asarray": Factory(Shape.DATA, from_data=True),
    "torch.sparse_coo_tensor": Factory(Shape.UNKNOWN, from_data=True),
}
"""Qualified name -> what it makes and where its device argument stands."""

HOST_FACTORIES = frozenset({"torch.from_numpy", "torch.frombuffer", "torch.from_file"})
"""Wrap host memory: CPU by intent, without a device argument."""

LEGACY = {
    "torch.Tensor": None,
    "torch.FloatTensor": "torch.float32",
    "torch.DoubleTensor": "torch.float64",
    "torch.HalfTensor": "torch.float16",
    "torch.BFloat16Tensor": "torch.bfloat16",
    "torch.LongTensor": "torch.int64",
    "torch.IntTensor": "torch.int32",
    "torch.ShortTensor": "torch.int16",
    "torch.CharTensor": "torch.int8",
    "torch.ByteTensor": "torch.uint8",
    "torch.BoolTensor": "torch.bool",
}
"""CPU constructors that take no CUDA device, with their dtype; their twins are under ``torch.cuda``."""

PYTHON_DTYPES = {
    "bool": "torch.bool",
    "int": "torch.int64",
    "float": "torch.float64",
    "complex": "torch.complex128",
}
"""Python's types as ``dtype``."""

LIKE_FACTORIES = frozenset(
    {
        "torch.zeros_like",
        "torch.ones_like",
        "torch.empty_like",
        "torch.full_like",
        "torch.rand_like",
        "torch.randn_like",
        "torch.randint_like",
    }
)
"""Build where their first argument lives, unless told otherwise."""
