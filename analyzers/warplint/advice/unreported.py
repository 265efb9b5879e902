"""Waste that a capture shows on lines of which no rule says anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from warplint.advice import measured_limits as limits
from warplint.advice.evidence import EVIDENCE, Evidence, Looked, exposed_us, idle_us, is_pageable
from warplint.profile.model import IdleCause, LineCost, Profile
from warplint.project import measured_codes as codes
from warplint.project.entries import BuiltIn
from warplint.report.figures import count, short_duration
from warplint.static.signature import Metric

TENSOR_CORES = re.compile(
    r"\b(V100|T4|T1000|A\d{1,4}G?|L4|L20|L40S?|H\d{2,3}|GH\d{3}|B\d{3}|GB\d{3}|RTX|TITAN (V|RTX))\b"
)
"""In the names of GPUs that have them: Volta and later, but for the GTX 16 series. Source: NVIDIA's list of
compute capabilities."""


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
    evidence = EVIDENCE[Metric.WAIT](looked)
    return replace(evidence, shows=evidence.shows and not EVIDENCE[Metric.PAGEABLE_COPY](looked).shows)


def _exposed(looked: Looked) -> Evidence:
    spent = looked.spent(exposed_us)
    copies = looked.total(lambda cost: cost.copies)
    pageable = any(is_pageable(kernel.name) for cost in looked.costs for kernel in cost.kernels)
    words = (f"{count(copies)} {'copy' if copies == 1 else 'copies'} beside which nothing is computed",)
    return Evidence(bool(spent) and not pageable, False, spent, words)


def _tiny(looked: Looked) -> Evidence:
    kernels = looked.total(lambda cost: cost.launches)
    busy_us = looked.total(lambda cost: cost.gpu_us)
    mean_us = busy_us / kernels if kernels else 0.0
    tiny = kernels >= limits.MANY_KERNELS and mean_us < limits.TINY_KERNEL_US
    words = (f"{count(kernels)} kernels of {short_duration(mean_us)} each",)
    return Evidence(tiny, False, looked.spent(idle_us(IdleCause.LAUNCH)), words)


def _host(looked: Looked) -> Evidence:
    spent = looked.spent(idle_us(IdleCause.HOST))
    return Evidence(bool(spent), False, spent, ("the GPU has nothing to do meanwhile",))


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
        limits.LEAST_SHARE,
        frozenset({Metric.WAIT, Metric.PAGEABLE_COPY, Metric.ALLOCATION}),
        "The GPU idles while the host waits for it here. Read the value every N steps, or keep it on the "
        "GPU.",
    ),
    Kind(
        codes.PAGEABLE_COPY,
        EVIDENCE[Metric.PAGEABLE_COPY],
        limits.LEAST_SHARE,
        frozenset({Metric.PAGEABLE_COPY, Metric.WAIT}),
        "This copies from or to pageable memory. Make the tensor on the GPU, or copy from pinned memory with "
        "`non_blocking=True`.",
    ),
    Kind(
        codes.EXPOSED_COPY,
        _exposed,
        limits.LEAST_SHARE,
        frozenset({Metric.PAGEABLE_COPY, Metric.WAIT}),
        "The GPU computes nothing while this copies. Start the copy earlier, on a stream of its own.",
    ),
    Kind(
        codes.TINY_KERNELS,
        _tiny,
        limits.LEAST_LAUNCH_SHARE,
        frozenset({Metric.KERNELS}),
        "The GPU waits for one tiny kernel after the other. Compute it in one operation, or let "
        "`torch.compile` fuse it.",
    ),
    Kind(
        codes.DATA_WAIT,
        EVIDENCE[Metric.DATA_IDLE],
        limits.LEAST_DATA_SHARE,
        frozenset({Metric.DATA_IDLE}),
        "The GPU idles while this line loads data. Load in more workers, make this line cheaper, or do it "
        "once ahead.",
    ),
    Kind(
        codes.ALLOCATION,
        _allocating,
        limits.LEAST_SHARE,
        frozenset({Metric.ALLOCATION, Metric.WAIT}),
        "The GPU idles while this line fetches or frees memory. Keep shapes alike from step to step, and "
        "do not empty the cache.",
    ),
    Kind(
        codes.FLOAT32_PRODUCTS,
        _float32,
        limits.LEAST_PRODUCT_SHARE,
        frozenset({Metric.FLOAT32_PRODUCTS, Metric.WIDE_PRODUCTS}),
        "This leaves the Tensor Cores idle. Use "
        '`torch.set_float32_matmul_precision("high")` or bfloat16 autocast.',
    ),
    Kind(
        codes.HOST_TIME,
        _host,
        limits.LEAST_HOST_SHARE,
        frozenset({Metric.WAIT, Metric.PAGEABLE_COPY, Metric.KERNELS, Metric.DATA_IDLE}),
        "The GPU idles while Python is busy on this line. Do it every N steps, on another thread, or on the "
        "GPU.",
    ),
)
"""What is looked for on every measured line. Of several on one line the dearest is reported."""
