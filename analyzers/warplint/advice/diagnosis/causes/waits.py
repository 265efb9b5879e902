"""The step waits because the host waited for the GPU, and so has launched nothing more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.copying import copied
from warplint.advice.diagnosis.host_waits import LineWaits
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.profile.model import IdleCause, LineCost
from warplint.report.figures import count, counted


def _kind(cost: LineCost) -> str | None:
    """None for a line whose large copies are what counts."""
    found = copied(cost)
    if not found.count:
        return "calls that wait"
    if found.large:
        return None
    return "values read back" if found.to_host * 2 > found.count else "tiny copies"


def _waited_us(waits: LineWaits) -> float:
    exposed = waits.cost.exposed_copy_us
    return exposed + waits.us.get(IdleCause.SYNC, 0.0) + waits.us.get(IdleCause.COPY, 0.0)


def _found(name: str) -> Callable[[CapturedSteps], list[Charge]]:
    def find(steps: CapturedSteps) -> list[Charge]:
        return [
            charge(us, each.cost.file, each.cost.line, steps.host_phase(each.cost))
            for each in steps.waits
            if _kind(each.cost) == name and (us := _waited_us(each)) > 0.0
        ]

    return find


def _says(what: str, remedy: str) -> Callable[[CapturedSteps, Sequence[Charge]], Said]:
    def say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
        places = {(each.file, each.line) for each in charges}
        costs = [cost for cost in steps.lines if (cost.file, cost.line) in places]
        waits = sum(cost.waits for cost in costs) / steps.steps
        copies = sum(cost.copies for cost in costs) / steps.steps
        at = "{place}" if len(places) == 1 else f"{counted(len(places), 'line')}, most of all {{place}}"
        return Said(
            what.format(
                waits=_amount(waits, "wait", "waits"),
                values=_amount(copies, "value", "values"),
                copies=_amount(copies, "copy", "copies"),
                at=at,
                each=steps.each,
            ),
            remedy,
            (
                Figure("waits", waits),
                Figure("copies", copies),
                Figure("felt_sync_us", sum(cost.felt_sync_us for cost in costs) / steps.steps),
                Figure("felt_copy_us", sum(cost.felt_copy_us for cost in costs) / steps.steps),
            ),
        )

    return say


def _amount(number: float, one: str, many: str) -> str:
    shown = count(number)
    return f"{shown} {one if shown == '1' else many}"


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


_ROWS = (
    (
        "values read back",
        "the host, which reads {values}{each} back from the GPU and meanwhile launches nothing, at {at}",
        "Keep the values on the GPU (`.detach()`), and read them every so many steps",
    ),
    (
        "tiny copies",
        "{copies}{each} of few bytes, and {waits} for them, at {at}",
        "Make the tensors on the GPU (`device=`), or once before the loop",
    ),
    (
        "calls that wait",
        "the host, which waits for the GPU ({waits}{each}) and meanwhile launches nothing, at {at}",
        "Leave out the wait: no `synchronize()`, and no shape or branch that depends on values on the GPU",
    ),
)
CAUSES = tuple(
    Cause(name, Bottleneck.SYNC, True, _found(name), _says(what, remedy), _threshold)
    for name, what, remedy in _ROWS
)
