"""For what the GPU idled at each line, once the host's own waits are counted at the lines that wait.

While the host waits for the GPU it launches nothing. Afterwards the queue is empty, and the GPU idles until
the host has caught up: by the causes of idle time that is launching or Python, on whatever line comes next.
Had the host not waited, it would have had that time in hand. So of the idle time in launching, as much as the
host was held up by waits (but not more) counts as theirs, divided among them by how long each lasted.

Python on lines that launch nothing keeps its idle time: it is no catching up, and the line is to blame.

Recording makes launching slower. Where steps were longer in the window than before it, by more than is
counted as the capture's own, launching is overstated by as much.
"""

from __future__ import annotations

from collections.abc import Sequence

from warplint.profile.model import IdleCause, LineCost
from warplint.source.records import dataclass, field

OWN_CAUSES = (IdleCause.SYNC, IdleCause.COPY, IdleCause.ALLOC)
"""Causes that are waits of the host themselves, each with a part of ``felt_us``."""
CATCHING_UP = (IdleCause.LAUNCH, IdleCause.HOST)


@dataclass(slots=True)
class LineWaits:
    """What the GPU waited for at one line: microseconds by cause."""

    cost: LineCost
    us: dict[IdleCause, float] = field(default_factory=dict)

    def add(self, cause: IdleCause, us: float) -> None:
        self.us[cause] = self.us.get(cause, 0.0) + us


def host_waits(lines: Sequence[LineCost], overstated_us: float = 0.0) -> list[LineWaits]:
    """In the order of ``lines``. Idle time that the capture caused is left out, and ``overstated_us`` of
    launching; the rest keeps its sum."""
    found = [LineWaits(cost, _own(cost)) for cost in lines]
    in_hand = {
        (index, cause): us
        for index, each in enumerate(found)
        for cause in OWN_CAUSES
        if (us := _felt_us(each.cost, cause) - each.us.get(cause, 0.0)) > 0.0
    }
    catching_up = {
        (index, cause): us
        for index, each in enumerate(found)
        for cause in CATCHING_UP
        if (us := each.us.get(cause, 0.0)) and (cause is IdleCause.LAUNCH or each.cost.launches)
    }
    waited, pool = sum(in_hand.values()), sum(catching_up.values())
    overstated = min(overstated_us, pool)
    if overstated > 0.0:
        for (index, cause), us in catching_up.items():
            found[index].add(cause, -overstated * us / pool)
    moved = min(waited, pool - overstated)
    if moved > 0.0:
        for (index, cause), us in catching_up.items():
            found[index].add(cause, -moved * us / pool)
        for (index, cause), us in in_hand.items():
            found[index].add(cause, moved * us / waited)
    return found


def _own(cost: LineCost) -> dict[IdleCause, float]:
    """Without what the capture caused. A copy within the device's memory is a launch like others."""
    us: dict[IdleCause, float] = {}
    for cause, idle_us in cost.idle_us.items():
        counted = IdleCause.LAUNCH if cause is IdleCause.COPY and not cost.copies else cause
        if cause is not IdleCause.CAPTURE:
            us[counted] = us.get(counted, 0.0) + idle_us
    return us


def _felt_us(cost: LineCost, cause: IdleCause) -> float:
    return {
        IdleCause.SYNC: cost.felt_sync_us,
        IdleCause.COPY: cost.felt_copy_us if cost.copies else 0.0,
        IdleCause.ALLOC: cost.felt_alloc_us,
    }[cause]
