"""What a diagnosis says."""

from __future__ import annotations

import enum

from warplint.source.records import dataclass


class Bottleneck(str, enum.Enum):
    """The class of what a step waits for."""

    DATA = "data"
    """The next batch."""
    SYNC = "sync"
    """The host, which waited for the GPU and so has launched nothing more."""
    LAUNCH = "launch"
    """The host, which launches or computes more slowly than the GPU works."""
    BANDWIDTH = "bandwidth"
    """Bytes on their way: over the link to the host, or through the GPU's memory."""
    COMPUTE = "compute"
    """The GPU's arithmetic, where the device has faster units for it."""
    ALLOCATOR = "allocator"
    """Memory that is taken from the driver, or given back to it."""
    COMMUNICATION = "communication"
    """Other GPUs."""
    CONTENTION = "contention"
    """Work that shares the GPU."""
    NONE = "none"
    """Nothing that a figure speaks for."""


class Phase(str, enum.Enum):
    """A part of a step."""

    DATA = "data"
    FORWARD = "forward"
    """What is in none of the others: the copy of the batch and the loss are among it."""
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, or a name, that a verdict rests on. Its name says its unit (docs/diagnosis.md lists all)."""

    name: str
    value: float | int | str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the run, or one phase, waits for.

    ``share`` is the part of the captured steps, without what the capture itself took, from 0 to 1; 0 for
    NONE. ``file`` and ``line`` are as in ``LineCost``, empty and 0 where no line is to blame. ``cause`` is a
    row of the table of causes, empty for NONE.
    """

    bottleneck: Bottleneck
    cause: str
    sentence: str
    share: float
    file: str
    line: int
    evidence: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``phases`` are those in which the step spends time, in the order of the step."""

    run: Verdict
    phases: tuple[tuple[Phase, Verdict], ...]
