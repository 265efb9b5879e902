"""What lines of a capture show of each metric that a rule's signature can name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from warplint.advice.measured.limits import (
    FEW_KERNELS,
    LEAST_RAN_SHARE,
    LEAST_SAID_US,
    LOST_TO_WIDE_PRODUCTS,
)
from warplint.advice.products import is_product
from warplint.profile.model import IdleCause, LineCost, Profile
from warplint.profile.names.signature import dtype
from warplint.report.figures import count, short_duration
from warplint.static.finding import Lost
from warplint.static.rules.signature import Metric

FLOAT32 = frozenset({"fp32"})
WIDE = frozenset({"fp32", "tf32", "fp64"})

BESIDE_THE_LINE = frozenset({IdleCause.DATA, IdleCause.WARMUP, IdleCause.CAPTURE, IdleCause.DEVICE})
"""Idle time that stands on a line without its doing."""


EXPOSED_COPY = "copies not hidden"
"""A kind of lost time, beside the causes for which the GPU idles and the types of matrix products."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Time of one kind on one captured line, for a step: what a cost is the sum of."""

    file: str
    line: int
    kind: str
    us: float


def total_us(spent: Sequence[Spent]) -> float:
    return sum(each.us for each in spent)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What some lines show: ``spent`` and the counts in ``words`` are for a step.

    ``shows`` says whether there is any of what was looked for; ``refutes`` whether its absence counts.
    """

    shows: bool
    refutes: bool
    spent: tuple[Spent, ...]
    words: tuple[str, ...]
    absent: str = ""
    """What is said where there is none."""
    verb: str = "costs"
    """``takes`` where the time is what the work takes, not what is lost by it."""
    lost_part: float = 1.0
    """How much of the time is lost at least, from 0 to 1."""
    is_least: bool = False
    """Whether more is lost than this time, on other lines: how much is not told."""

    @property
    def cost_us(self) -> float:
        return total_us(self.spent)

    @property
    def is_work(self) -> bool:
        """Whether the time is the GPU's at work."""
        return self.verb == "takes"

    @property
    def is_loss(self) -> bool:
        """Whether so much can be won that the cost alone says how much the finding matters."""
        return self.lost_part > 0

    def lost(self, capture: str, step_us: float) -> tuple[Lost, ...] | None:
        """The lost part of each time, as shares of a step; None where that is not told."""
        if not self.is_loss or not step_us:
            return None
        return tuple(
            Lost(capture, each.file, each.line, each.kind, self.lost_part * each.us / step_us)
            for each in self.spent
        )


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

    def spent(self, times_us: Callable[[LineCost], Mapping[str, float]]) -> tuple[Spent, ...]:
        """The times of each line by kind, for a step."""
        return tuple(
            Spent(cost.file, cost.line, kind, us / self.steps)
            for cost in self.costs
            for kind, us in times_us(cost).items()
            if us > 0
        )


def idle_us(*causes: IdleCause) -> Callable[[LineCost], Mapping[str, float]]:
    """How long the GPU idled on a line, for each of these causes."""
    return lambda cost: {cause.value: cost.idle_us.get(cause, 0.0) for cause in causes}


def exposed_us(cost: LineCost) -> Mapping[str, float]:
    return {EXPOSED_COPY: cost.exposed_copy_us}


def waiting_us(cost: LineCost) -> Mapping[str, float]:
    """How long the GPU had nothing to do because this line waited or copied, and how long it only copied.

    On a line that launches nothing else, all of the host's time in which the GPU idled counts.
    """
    causes = (
        set(IdleCause) - BESIDE_THE_LINE
        if not cost.launches
        else {IdleCause.SYNC, IdleCause.COPY, IdleCause.ALLOC}
    )
    idle = {cause.value: us for cause, us in cost.idle_us.items() if cause in causes}
    return {**idle, **exposed_us(cost)}


def pageable_copies(cost: LineCost) -> int:
    return sum(kernel.count for kernel in cost.kernels if is_pageable(kernel.name))


def is_pageable(name: str) -> bool:
    return name.startswith("Memcpy") and "Pageable" in name


def _unrecorded_copies(cost: LineCost) -> int:
    """Copies that the host started and of which no record says what memory they were from."""
    return cost.copies - sum(kernel.count for kernel in cost.kernels if kernel.name.startswith("Memcpy"))


def _waits(looked: Looked) -> Evidence:
    waits = looked.total(lambda cost: cost.waits)
    spent, held_up_us = looked.spent(waiting_us), looked.total(_waited_us)
    words = (_counted(waits, "wait"), *_waited(spent, held_up_us))
    return Evidence(
        waits > 0, True, spent, words, "it waits for nothing", is_least=_is_least(spent, held_up_us)
    )


def _pageable(looked: Looked) -> Evidence:
    copies, waits = looked.total(pageable_copies), looked.total(lambda cost: cost.waits)
    spent, held_up_us = looked.spent(waiting_us), looked.total(_waited_us)
    words = (
        _counted(copies, "pageable copy", "pageable copies"),
        *([_counted(waits, "wait")] if waits else []),
        *_waited(spent, held_up_us),
    )
    told = looked.total(_unrecorded_copies) <= 0
    absent = "it copies nothing from pageable memory"
    return Evidence(copies > 0, told, spent, words, absent, is_least=_is_least(spent, held_up_us))


def _waited_us(cost: LineCost) -> float:
    return cost.felt_sync_us + cost.felt_copy_us


def _is_least(spent: Sequence[Spent], held_up_us: float) -> bool:
    """Whether the host has lost more of its lead than the GPU idled here: it may idle for that later on."""
    return held_up_us > max(total_us(spent), LEAST_SAID_US)


def _waited(spent: Sequence[Spent], held_up_us: float) -> list[str]:
    late = " (what starts late after it is not counted)" if _is_least(spent, held_up_us) else ""
    return [f"{said}{late}" for said in _held_up(held_up_us)]


def _held_up(us: float) -> list[str]:
    return [f"the host is held up for {short_duration(us)}"] if us >= 1 else []


def _data(looked: Looked) -> Evidence:
    spent = looked.spent(idle_us(IdleCause.DATA))
    words = ("the GPU has no batch to work on",)
    return Evidence(bool(spent), True, spent, words, "the GPU never waits for a batch")


def _kernels(looked: Looked) -> Evidence:
    kernels = looked.total(lambda cost: cost.launches)
    spent = looked.spent(idle_us(IdleCause.LAUNCH, IdleCause.HOST, IdleCause.DEVICE))
    words = (_counted(kernels, "kernel"), "the GPU is done with them before the next is launched")
    few = f"it launches only {_counted(kernels, 'kernel')} a step"
    return Evidence(kernels > FEW_KERNELS, kernels > 0, spent, words, few)


def _kernel_time(looked: Looked) -> Evidence:
    spent = looked.spent(lambda cost: {"GPU busy": cost.busy_us})
    kernels = looked.total(lambda cost: cost.launches)
    return Evidence(bool(spent), False, spent, (_counted(kernels, "kernel"),), verb="takes", lost_part=0.0)


def _allocation(looked: Looked) -> Evidence:
    spent = looked.spent(idle_us(IdleCause.ALLOC))
    held_up_us = looked.total(lambda cost: cost.felt_alloc_us)
    shows = held_up_us > 0 or bool(spent)
    # What autograd and compiled regions allocate holds up the lines that it is for; the host is on the line
    # that started them meanwhile.
    others_us = total_us(spent) - held_up_us
    beside = ["part of it for the work of other lines"] if others_us >= LEAST_SAID_US else []
    return Evidence(shows, False, spent, ("allocating memory", *(beside or _held_up(held_up_us))))


def _products(wanted: frozenset[str]) -> Callable[[Looked], Evidence]:
    def evidence(looked: Looked) -> Evidence:
        spent = looked.spent(products_us)
        ran = (
            sum(each.us for each in spent)
            >= LEAST_RAN_SHARE * looked.profile.totals.program_us / looked.steps
        )
        shown = tuple(each for each in spent if each.kind in wanted)
        kinds = ", ".join(sorted({each.kind for each in shown}))
        others = ", ".join(sorted({each.kind for each in spent} - wanted))
        return Evidence(
            bool(shown),
            ran,
            shown,
            (f"matrix products in {kinds}",),
            f"its matrix products are in {others}",
            "takes",
            LOST_TO_WIDE_PRODUCTS,
        )

    return evidence


def products_us(cost: LineCost) -> dict[str, float]:
    """The GPU's busy time in a line's matrix products, by the type that their kernels' names tell."""
    us: defaultdict[str, float] = defaultdict(float)
    for kernel in cost.kernels:
        if kernel.us > 0 and is_product(kernel.name) and (kind := dtype(kernel.name)):
            us[kind] += cost.busy_part_us(kernel.us)
    return dict(us)


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
