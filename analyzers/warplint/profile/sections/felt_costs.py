"""What a profile says of the host's waits."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FeltPart(str, enum.Enum):
    """What held the host up."""

    SYNC = "sync"
    """A call that waits for the device."""
    COPY = "copy"
    """A copy that returned only when it, or what was before it, was done."""
    QUEUE = "queue"
    """A launch that found the queue of launches full: the GPU is the one that is slow."""
    ALLOC = "alloc"
    """cudaMalloc, cudaFree or their like."""
    DATA = "data"
    """A DataLoader's ``__next__``."""


@dataclass(frozen=True, slots=True)
class FeltWait:
    """Why the host was held up at a line, and by which. Sums over the captured steps."""

    file: str
    line: int
    part: str
    """A FeltPart."""
    us: float
    count: int
    cause_file: str
    """Of the line that caused the GPU work which kept it there longest, or of the dearest line of the loader;
    empty where nothing says so."""
    cause_line: int
    cause: str
    """The longest kernel of that line, or empty."""
