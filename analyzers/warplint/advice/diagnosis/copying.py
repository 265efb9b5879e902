"""What a line copied between host and device, or between devices."""

from __future__ import annotations

from warplint.advice.diagnosis.kernels import is_copy
from warplint.profile.model import LineCost
from warplint.profile.names.tiny_copies import TINY_BYTES, direction_and_memory
from warplint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class Copied:
    """Sums over the captured steps; ``us`` is the plain sum of durations on the link."""

    us: float
    pageable_us: float
    bytes: int
    count: int
    to_host: int = 0
    """Of the copies, those from the device."""

    @property
    def large(self) -> bool:
        """Whether it is the bytes that take time, rather than the call."""
        return self.count > 0 and self.bytes >= TINY_BYTES * self.count


def copied(cost: LineCost) -> Copied:
    us = pageable_us = 0.0
    to_host = 0
    for kernel in cost.kernels:
        if is_copy(kernel.name):
            direction, memory = direction_and_memory(kernel.name)
            us += kernel.us
            pageable_us += kernel.us if memory == "pageable" else 0.0
            to_host += kernel.count if direction == "DtoH" else 0
    return Copied(us, pageable_us, cost.copy_bytes, cost.copies, to_host)
