"""Waste that a capture shows on lines of which no rule says anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from warplint.advice.measured.evidence import (
    EVIDENCE,
    Evidence,
    Looked,
    exposed_us,
    idle_us,
    is_pageable,
    total_us,
)
from warplint.advice.measured.limits import (
    FEW_KERNELS,
    LAUNCH_US,
    LEAST_DATA_SHARE,
    LEAST_HOST_SHARE,
    LEAST_LAUNCH_SHARE,
    LEAST_PRODUCT_SHARE,
    LEAST_SHARE,
    MANY_KERNELS,
    TINY_KERNEL_US,
)
from warplint.profile.model import IdleCause, LineCost, Profile
from warplint.project import measured_codes as codes
from warplint.project.entries import BuiltIn
from warplint.report.figures import count, short_duration
from warplint.source.text import LINE_END
from warplint.static.rules.signature import Metric

TENSOR_CORES = re.compile(
    r"\b(V100|T4|T1000|A\d{1,4}G?|L4|L20|L40S?|H\d{2,3}|GH\d{3}|B\d{3}|GB\d{3}|RTX|TITAN (V|RTX))\b"
)
"""In the names of GPUs that have them: Volta and later, but for the GTX 16 series. Source: NVIDIA's list of
compute capabilities."""
BACKWARD = re.compile(r"\.backward\(|\bautograd\.grad\(")
FED_LATE = idle_us(IdleCause.LAUNCH, IdleCause.HOST)
"""Idle time between the launches of a line: in them, or in what the host does besides."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of waste: how it is seen on a line, the share of a step that counts, its message.

    ``message`` stands after the cost and what shows it. A rule's finding of one of ``metrics``, confirmed on
    the line, has said it already.
    """

    entry: BuiltIn
    look: Callable[[Looked], Evidence]
    least_share: float
    metrics: frozenset[Metric]
    message: str


@dataclass(frozen=True, slots=True)
class Waste:
    """What one line wastes in one way."""

    kind: Kind
    evidence: Evidence


def wastes(profile: Profile, cost: LineCost) -> Iterator[Waste]:
    """Every kind of waste on a line that is worth a word; nothing without a GPU, or of what is no line."""
    if not profile.totals.on_gpu or not profile.totals.program_us or not cost.line:
        return
    looked = Looked((cost,), profile)
    step_us = profile.totals.program_us / looked.steps
    for kind in KINDS:
        evidence = kind.look(looked)
        if evidence.shows and evidence.cost_us >= kind.least_share * step_us:
            yield Waste(kind, evidence)


def _only_waits(looked: Looked) -> Evidence:
    """Waits that are no part of a copy from pageable memory."""
    evidence = _without_host(EVIDENCE[Metric.WAIT](looked))
    return replace(evidence, shows=evidence.shows and not EVIDENCE[Metric.PAGEABLE_COPY](looked).shows)


def _pageable(looked: Looked) -> Evidence:
    return _without_host(EVIDENCE[Metric.PAGEABLE_COPY](looked))


def _without_host(evidence: Evidence) -> Evidence:
    """Less the time in other code of the line: with no rule that names it, it need not belong to the call."""
    return replace(
        evidence, spent=tuple(each for each in evidence.spent if each.kind != IdleCause.HOST.value)
    )


def _exposed(looked: Looked) -> Evidence:
    spent = looked.spent(exposed_us)
    copies = looked.total(lambda cost: cost.copies)
    pageable = any(is_pageable(kernel.name) for cost in looked.costs for kernel in cost.kernels)
    words = (f"{count(copies)} {'copy' if copies == 1 else 'copies'} beside which nothing is computed",)
    return Evidence(bool(spent) and not pageable, False, spent, words)


def _tiny(looked: Looked) -> Evidence:
    """Kernels that are done before the host has launched the next."""
    spent = looked.spent(FED_LATE)
    launches, kernels_us, many = looked.total(launched), looked.total(lambda cost: cost.gpu_us), MANY_KERNELS
    words = "{} kernels of {} each"
    if starts_backward(looked):
        # What autograd launches is charged to the lines of the forward pass: the step's stand for it.
        totals, many, words = looked.profile.totals, FEW_KERNELS, "the step's {} kernels take {} each"
        launches, kernels_us = totals.launches / looked.steps, totals.kernel_us / looked.steps
    mean_us = kernels_us / launches if launches else 0.0
    tiny = launches >= many and mean_us < TINY_KERNEL_US and total_us(spent) <= LAUNCH_US * launches
    return Evidence(tiny, False, spent, (words.format(count(launches), short_duration(mean_us)),))


def _slow_launches(looked: Looked) -> Evidence:
    """Launches before each of which the host does more than launch."""
    spent, launches = looked.spent(FED_LATE), looked.total(launched)
    slow = total_us(spent) > LAUNCH_US * launches > 0 and not starts_backward(looked)
    each = short_duration(total_us(spent) / launches) if launches else ""
    words = (f"the GPU has nothing to do for {each} before each of {count(launches)} launches",)
    return Evidence(slow, False, spent, words)


def _host(looked: Looked) -> Evidence:
    """Code of the host on lines that launch nothing."""
    spent = looked.spent(idle_us(IdleCause.HOST))
    launches = looked.total(launched) > 0 or starts_backward(looked)
    return Evidence(bool(spent) and not launches, False, spent, ("the GPU has nothing to do meanwhile",))


def launched(cost: LineCost) -> int:
    return cost.launches


def starts_backward(looked: Looked) -> bool:
    """Whether autograd launches while the host is on the line."""
    return any(BACKWARD.search(_text(looked.profile, cost)) for cost in looked.costs)


def _text(profile: Profile, cost: LineCost) -> str:
    source = profile.sources.get(cost.file)
    lines = _lines(source.text) if source else []
    return lines[cost.line - 1] if cost.line <= len(lines) else ""


@lru_cache(maxsize=64)
def _lines(text: str) -> list[str]:
    return LINE_END.split(text)


def _float32(looked: Looked) -> Evidence:
    evidence = EVIDENCE[Metric.FLOAT32_PRODUCTS](looked)
    has_tensor_cores = TENSOR_CORES.search(looked.profile.totals.device) is not None
    return replace(evidence, shows=evidence.shows and has_tensor_cores)


def _allocating(looked: Looked) -> Evidence:
    return EVIDENCE[Metric.ALLOCATION](looked)


KINDS = (
    Kind(
        codes.WAIT,
        _only_waits,
        LEAST_SHARE,
        frozenset({Metric.WAIT, Metric.PAGEABLE_COPY, Metric.ALLOCATION}),
        "The GPU idles while the host waits for it here. Read the value every N steps, or keep it on the "
        "GPU.",
    ),
    Kind(
        codes.PAGEABLE_COPY,
        _pageable,
        LEAST_SHARE,
        frozenset({Metric.PAGEABLE_COPY, Metric.WAIT}),
        "This copies from or to pageable memory. Make the tensor on the GPU, or copy from pinned memory with "
        "`non_blocking=True`.",
    ),
    Kind(
        codes.EXPOSED_COPY,
        _exposed,
        LEAST_SHARE,
        frozenset({Metric.PAGEABLE_COPY, Metric.WAIT}),
        "The GPU computes nothing while this copies. Start the copy earlier, on a stream of its own.",
    ),
    Kind(
        codes.TINY_KERNELS,
        _tiny,
        LEAST_LAUNCH_SHARE,
        frozenset({Metric.KERNELS}),
        "The GPU waits for one tiny kernel after the other. Compute it in one operation, or let "
        "`torch.compile` fuse it.",
    ),
    Kind(
        codes.DATA_WAIT,
        EVIDENCE[Metric.DATA_IDLE],
        LEAST_DATA_SHARE,
        frozenset({Metric.DATA_IDLE}),
        "The GPU idles while this line loads data. Load in more workers, make this line cheaper, or do it "
        "once ahead.",
    ),
    Kind(
        codes.ALLOCATION,
        _allocating,
        LEAST_SHARE,
        frozenset({Metric.ALLOCATION, Metric.WAIT}),
        "The GPU idles while this line fetches or frees memory. Keep shapes alike from step to step, and "
        "do not empty the cache.",
    ),
    Kind(
        codes.FLOAT32_PRODUCTS,
        _float32,
        LEAST_PRODUCT_SHARE,
        frozenset({Metric.FLOAT32_PRODUCTS, Metric.WIDE_PRODUCTS}),
        "This leaves the Tensor Cores idle. Use "
        '`torch.set_float32_matmul_precision("high")` or bfloat16 autocast.',
    ),
    Kind(
        codes.HOST_TIME,
        _slow_launches,
        LEAST_HOST_SHARE,
        frozenset({Metric.WAIT, Metric.PAGEABLE_COPY, Metric.KERNELS, Metric.DATA_IDLE}),
        "The host takes longer for this line than launching does. Keep shapes alike from step to step, since "
        "libraries plan anew for each, or have `torch.compile` or a CUDA graph do its work.",
    ),
    Kind(
        codes.HOST_TIME,
        _host,
        LEAST_HOST_SHARE,
        frozenset({Metric.WAIT, Metric.PAGEABLE_COPY, Metric.KERNELS, Metric.DATA_IDLE}),
        "The GPU idles while Python is busy on this line. Do it every N steps, on another thread, or on the "
        "GPU.",
    ),
)
"""What is looked for on every measured line. Of several on one line the dearest is reported."""
