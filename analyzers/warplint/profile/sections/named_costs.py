"""What ran, by name: the records of three sections of a profile."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerCost:
    """A layer's own part: what modules called inside it cost is theirs. Every key: docs/show-json.md."""

    path: str
    class_name: str
    description: str
    dtype: str
    input: str
    file: str
    line: int
    calls: int
    launches: int
    gpu_forward_us: float
    gpu_backward_us: float
    cpu_us: float


@dataclass(frozen=True, slots=True)
class KernelGroup:
    """Kernels of one signature and type, in the captured steps. Every key: docs/show-json.md."""

    signature: str
    dtype: str
    names: int
    count: int
    us: float
    mean_us: float
    p10_us: float
    p90_us: float
    launches_per_second: float
    behaviour: str
    jitter: float | None
    contended_us: float | None
    example: str


@dataclass(frozen=True, slots=True)
class TinyCopies:
    """A cluster of them, summed over the captured steps. Every key: docs/show-json.md."""

    file: str
    line: int
    direction: str
    memory: str
    count: int
    count_per_step: float
    bytes: int
    us: float
    wait_us: float
