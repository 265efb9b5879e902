"""What lines of a capture show of each metric that a rule's signature can name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warplint.advice.measured_limits import FEW_KERNELS, LEAST_RAN_SHARE
from warplint.profile.model import IdleCause, LineCost, Profile
from warplint.profile.signature import dtype
from warplint.report.figures import count, short_duration
from warplint.static.signature import Metric

PRODUCT = re.compile(r"gemm|gemv|gemmk|xmma|cutlass|wgrad|dgrad|fprop|scudnn|cudnn.*conv|conv.*cudnn")
"""In the names of kernels that multiply matrices, convolutions among them: cuBLAS, cuDNN, CUTLASS."""

FLOAT32 = frozenset({"fp32"})
WIDE = frozenset({"fp32", "tf32", "fp64"})

BESIDE_THE_LINE = frozenset({IdleCause.DATA, IdleCause.WARMUP, IdleCause.CAPTURE, IdleCause.DEVICE})
"""Idle time that stands on a line without its doing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What some lines show: ``cost_us`` and the counts in ``words`` are for a step.

    ``shows`` says whether there is any of what was looked for; ``refutes`` whether its absence counts.
    """

    shows: bool
    refutes: bool
    cost_us: float
    words: tuple[str, ...]
    absent: str = ""
    """What is said where there is none."""
    verb: str = "costs"
    """``takes`` where the time is what the work takes, not what is lost by it."""
    is_loss: bool = True
    """Whether so much can be won that the cost alone says how much the finding matters."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Where evidence is looked for: the lines, and the capture that they are of."""

    costs: Sequence[LineCost]
    profile: Profile

    @property
    def steps(self) -> int:
        return max(self.profile.totals.steps, 1)

    def total(self, figure: Callable[[LineCost], float]) -> float:
        """A figure's sum over the lines, for a step."""
        return sum(map(figure, self.costs)) / self.steps


def waiting_us(cost: LineCost) -> float:
    """How long the GPU had nothing to do because this line waited or copied, and how long it only copied.

    On a line that launches nothing else, all of the host's time in which the GPU idled counts.
    """
    causes = (
        set(IdleCause) - BESIDE_THE_LINE
        if not cost.launches
        else {IdleCause.SYNC, IdleCause.COPY, IdleCause.ALLOC}
    )
    return sum(us for cause, us in cost.idle_us.items() if cause in causes) + cost.exposed_copy_us


def pageable_copies(cost: LineCost) -> int:
    return sum(kernel.count for kernel in cost.kernels if is_pageable(kernel.name))


def is_pageable(name: str) -> bool:
    return name.startswith("Memcpy") and "Pageable" in name


def _unrecorded_copies(cost: LineCost) -> int:
    """Copies that the host started and of which no record says what memory they were from."""
    return cost.copies - sum(kernel.count for kernel in cost.kernels if kernel.name.startswith("Memcpy"))


def _waits(looked: Looked) -> Evidence:
    waits = looked.total(lambda cost: cost.waits)
    held_up_us = looked.total(lambda cost: cost.felt_sync_us + cost.felt_copy_us)
    words = (_counted(waits, "wait"), *_held_up(held_up_us))
    return Evidence(waits > 0, True, looked.total(waiting_us), words, "it waits for nothing")


def _pageable(looked: Looked) -> Evidence:
    copies, waits = looked.total(pageable_copies), looked.total(lambda cost: cost.waits)
    held_up_us = looked.total(lambda cost: cost.felt_sync_us + cost.felt_copy_us)
    words = (
        _counted(copies, "pageable copy", "pageable copies"),
        *([_counted(waits, "wait")] if waits else []),
        *_held_up(held_up_us),
    )
    told = looked.total(_unrecorded_copies) <= 0
    return Evidence(
        copies > 0, told, looked.total(waiting_us), words, "it copies nothing from pageable memory"
    )


def _held_up(us: float) -> list[str]:
    return [f"the host is held up for {short_duration(us)}"] if us >= 1 else []


def _data(looked: Looked) -> Evidence:
    idle_us = looked.total(lambda cost: cost.idle_us.get(IdleCause.DATA, 0.0))
    words = ("the GPU has no batch to work on",)
    return Evidence(idle_us > 0, True, idle_us, words, "the GPU never waits for a batch")


def _kernels(looked: Looked) -> Evidence:
    kernels = looked.total(lambda cost: cost.launches)
    idle_us = looked.total(lambda cost: sum(us for cause, us in cost.idle_us.items() if _feeds(cause)))
    words = (_counted(kernels, "kernel"), "the GPU is done with them before the next is launched")
    few = f"it launches only {_counted(kernels, 'kernel')} a step"
    return Evidence(kernels > FEW_KERNELS, kernels > 0, idle_us, words, few)


def _feeds(cause: IdleCause) -> bool:
    return cause in (IdleCause.LAUNCH, IdleCause.HOST, IdleCause.DEVICE)


def _kernel_time(looked: Looked) -> Evidence:
    busy_us = looked.total(lambda cost: cost.busy_us)
    kernels = looked.total(lambda cost: cost.launches)
    return Evidence(busy_us > 0, False, busy_us, (_counted(kernels, "kernel"),), "", "takes", False)


def _allocation(looked: Looked) -> Evidence:
    idle_us = looked.total(lambda cost: cost.idle_us.get(IdleCause.ALLOC, 0.0))
    held_up_us = looked.total(lambda cost: cost.felt_alloc_us)
    return Evidence(
        held_up_us > 0 or idle_us > 0, False, idle_us, ("allocating memory", *_held_up(held_up_us))
    )


def _products(wanted: frozenset[str]) -> Callable[[Looked], Evidence]:
    def evidence(looked: Looked) -> Evidence:
        products = [
            (dtype(kernel.name), kernel.us)
            for cost in looked.costs
            for kernel in cost.kernels
            if PRODUCT.search(kernel.name)
        ]
        us = sum(us for kind, us in products if kind in wanted)
        known_us = sum(us for kind, us in products if kind)
        ran = known_us >= LEAST_RAN_SHARE * looked.profile.totals.program_us
        kinds = ", ".join(sorted({kind for kind, _ in products if kind in wanted}))
        others = ", ".join(sorted({kind for kind, _ in products if kind and kind not in wanted}))
        return Evidence(
            us > 0,
            ran,
            us / looked.steps,
            (f"matrix products in {kinds}",),
            f"its matrix products are in {others}",
            "takes",
        )

    return evidence


EVIDENCE: dict[Metric, Callable[[Looked], Evidence]] = {
    Metric.WAIT: _waits,
    Metric.PAGEABLE_COPY: _pageable,
    Metric.DATA_IDLE: _data,
    Metric.KERNELS: _kernels,
    Metric.KERNEL_TIME: _kernel_time,
    Metric.ALLOCATION: _allocation,
    Metric.FLOAT32_PRODUCTS: _products(FLOAT32),
    Metric.WIDE_PRODUCTS: _products(WIDE),
}
"""The metrics that are judged. Of the others nothing is claimed: time in collectives needs more than one
process, and neither peak memory nor what a setting costs the host is in the costs of lines."""


def _counted(number: float, one: str, many: str | None = None) -> str:
    return f"{count(number)} {one if number == 1 else many or one + 's'}"
