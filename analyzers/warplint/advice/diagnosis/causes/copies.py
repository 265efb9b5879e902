"""The step waits for bytes on the link to the host: large copies that no kernel runs beside.

Copies of few bytes take no longer on the link than one launch; what they cost is the wait (waits.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.copying import Copied, copied
from warplint.advice.diagnosis.host_waits import LineWaits
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.profile.model import IdleCause
from warplint.report.figures import count, share


def _waited_us(waits: LineWaits) -> float:
    return waits.cost.exposed_copy_us + waits.us.get(IdleCause.COPY, 0.0) + waits.us.get(IdleCause.SYNC, 0.0)


def _rate(found: Copied) -> float:
    """GB/s on the link, while a copy ran."""
    return found.bytes / found.us / 1e3 if found.us else 0.0


def _kind(steps: CapturedSteps, found: Copied) -> str:
    if found.pageable_us > found.us / 2:
        return "pageable copies"
    limits = steps.limits
    if limits is not None and _rate(found) >= THRESHOLDS.link * limits.link_gb_s:
        return "the link is full"
    return "copies beside no kernel"


def _found(name: str) -> Callable[[CapturedSteps], list[Charge]]:
    def find(steps: CapturedSteps) -> list[Charge]:
        return [
            charge(us, each.cost.file, each.cost.line, steps.host_phase(each.cost))
            for each in steps.waits
            if (found := copied(each.cost)).large and _kind(steps, found) == name
            if (us := _waited_us(each)) > 0.0
        ]

    return find


def _evidence(steps: CapturedSteps, charges: Sequence[Charge]) -> tuple[Figure, ...]:
    places = {(each.file, each.line) for each in charges}
    costs = [cost for cost in steps.lines if (cost.file, cost.line) in places]
    each_copied = [copied(cost) for cost in costs]
    whole = Copied(
        sum(each.us for each in each_copied),
        sum(each.pageable_us for each in each_copied),
        sum(each.bytes for each in each_copied),
        sum(each.count for each in each_copied),
    )
    figures = [
        Figure("copies", whole.count / steps.steps),
        Figure("copy_bytes", whole.bytes / steps.steps),
        Figure("copy_gb_s", _rate(whole)),
        Figure("pageable_share", whole.pageable_us / whole.us if whole.us else 0.0),
        Figure("exposed_copy_us", sum(cost.exposed_copy_us for cost in costs) / steps.steps),
    ]
    if steps.limits is not None:
        figures.append(Figure("link_gb_s", steps.limits.link_gb_s))
    return tuple(figures)


def _says(what: str, remedy: str) -> Callable[[CapturedSteps, Sequence[Charge]], Said]:
    def say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
        evidence = _evidence(steps, charges)
        figures = {each.name: float(each.value) for each in evidence}
        limit = figures.get("link_gb_s")
        of_limit = f", {share(figures['copy_gb_s'] / limit)} of its link's rate" if limit else ""
        moved = f"{count(figures['copy_bytes'] / 1e6)} MB{steps.each} at {count(figures['copy_gb_s'])} GB/s"
        return Said(what.format(moved=moved + of_limit), remedy, evidence)

    return say


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


_ROWS = (
    (
        "pageable copies",
        "copies between pageable memory and the GPU at {{place}}: {moved}",
        "Pin the memory (`pin_memory=True` in the DataLoader) and copy with `non_blocking=True`",
    ),
    (
        "the link is full",
        "the link to the GPU, which is full, at {{place}}: {moved}",
        "Send less: smaller types, such as uint8 images that the GPU converts, or what stays on the GPU",
    ),
    (
        "copies beside no kernel",
        "copies at {{place}} that no kernel runs beside: {moved}",
        "Copy the next batch while this one is computed: `non_blocking=True` on a stream of its own",
    ),
)
CAUSES = tuple(
    Cause(name, Bottleneck.BANDWIDTH, True, _found(name), _says(what, remedy), _threshold)
    for name, what, remedy in _ROWS
)
