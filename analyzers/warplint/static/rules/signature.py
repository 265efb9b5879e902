"""What proves or refutes a rule's finding in a capture, as data: where to look, and for what."""

from __future__ import annotations

import enum

from warplint.source.records import dataclass


class At(str, enum.Enum):
    """Where in a capture a rule's proof would stand."""

    LINE = "line"
    """On the statement of the finding."""
    USES = "uses"
    """There, or where its value is used."""
    STEP = "step"
    """On the lines that do this kind of work in each step, wherever they are: the optimizer's."""
    RUN = "run"
    """In the captured steps as a whole."""


class Metric(str, enum.Enum):
    """What a capture would show if the finding is true."""

    PAGEABLE_COPY = "pageable copy"
    WAIT = "wait"
    DATA_IDLE = "idle for data"
    KERNEL_TIME = "kernel time"
    COMMUNICATION = "time in collectives"
    HOST_TIME = "time on the host"
    KERNELS = "number of kernels"
    FLOAT32_PRODUCTS = "matrix products in float32"
    WIDE_PRODUCTS = "matrix products in more than 16 bits"
    ALLOCATION = "time in the allocator"
    MEMORY = "peak memory"
    NONE = "nothing"
    """It fails or gives wrong results, or no figure of a capture tells it from what else runs there."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What proves or refutes a rule's finding in a capture, and where to look for it.

    Which of these are judged, and how: ``advice/measured/evidence.py``. The others leave a finding as it is.
    """

    at: At
    metric: Metric
