"""What a LAYER record says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RawLayer:
    """A layer of a window. Every key is described in docs/capture-format.md."""

    root: int
    path: str
    class_name: str
    shape: str
    bias: bool
    weights: str
    file: str
    line: int
    input: str
    dtype: str
    varies: bool

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> RawLayer:
        """Raises KeyError, TypeError or ValueError when it holds something else."""
        return cls(
            root=int(value["root"]),
            path=str(value["path"]),
            class_name=str(value["class"]),
            shape=str(value["shape"]),
            bias=bool(value["bias"]),
            weights=str(value["weights"]),
            file=str(value["file"]),
            line=int(value["line"]),
            input=str(value["input"]),
            dtype=str(value["dtype"]),
            varies=bool(value["varies"]),
        )
