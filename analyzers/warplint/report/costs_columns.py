"""The columns of cost that a listing can have, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.profile.model import LineCost
from warplint.report.figures import count, milliseconds, share
from warplint.source.records import dataclass

LEAST_SHOWN_US = 5.0
"""Times under this a step are left blank: they would print as 0.00 ms."""

LEAST_SHARE = 0.0005


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a listing. ``cell`` gets a cost and how many steps it is spread over; empty when nothing.

    ``keep`` says which columns go first where there is no room: all that have the lowest, together.
    """

    header: str
    cell: Callable[[LineCost, int], str]
    keep: int
    is_figure: bool = True


def _ms(us: float, steps: int) -> str:
    return milliseconds(us / steps) if us / steps >= LEAST_SHOWN_US else ""


def _count(number: int, steps: int) -> str:
    return count(number / steps) if number else ""


def _sample_ms(cost: LineCost, steps: int) -> str:
    """Time in the loader's workers: of one sample, whatever the steps."""
    return _ms(cost.worker_us, 1)


def _cause(cost: LineCost, steps: int) -> str:
    """The cause of most of the line's idle time."""
    if not _ms(cost.total_idle_us, steps):
        return ""
    return max(cost.idle_us, key=lambda cause: cost.idle_us[cause]).value


COLUMNS = (
    Column("time", lambda cost, steps: share(cost.share) if cost.share >= LEAST_SHARE else "", 9),
    Column("GPU ms", lambda cost, steps: _ms(cost.busy_us, steps), 8),
    Column("fwd", lambda cost, steps: _ms(cost.gpu_forward_us, steps), 4),
    Column("bwd", lambda cost, steps: _ms(cost.gpu_backward_us, steps), 4),
    Column("opt", lambda cost, steps: _ms(cost.gpu_optimizer_us, steps), 4),
    Column("launches", lambda cost, steps: _count(cost.launches, steps), 2),
    Column("copies", lambda cost, steps: _count(cost.copies, steps), 6),
    Column("waits", lambda cost, steps: _count(cost.waits, steps), 5),
    Column("wait ms", lambda cost, steps: _ms(cost.wait_us, steps), 3),
    Column("idle ms", lambda cost, steps: _ms(cost.total_idle_us, steps), 8),
    Column("cause", _cause, 7, is_figure=False),
    Column("ms/sample", _sample_ms, 7),
)

HOST_COLUMNS = (COLUMNS[0], Column("CPU ms", lambda cost, steps: _ms(cost.cpu_us, steps), 8), COLUMNS[-1])
"""Without a GPU there is only where the host was."""

GAP = 2
"""Blanks between columns."""


def columns_for(costs: Sequence[LineCost], steps: int, on_gpu: bool, room: int) -> list[Column]:
    """The columns that have something to say about these costs, as many as fit into ``room`` characters."""
    chosen = [
        column
        for column in (COLUMNS if on_gpu else HOST_COLUMNS)
        if any(column.cell(cost, steps) for cost in costs)
    ]
    while len(chosen) > 1 and sum(width(column, costs, steps) + GAP for column in chosen) > room:
        least = min(column.keep for column in chosen)
        chosen = [column for column in chosen if column.keep > least] or chosen[:1]
    return chosen


def width(column: Column, costs: Sequence[LineCost], steps: int) -> int:
    return max(len(column.header), *(len(column.cell(cost, steps)) for cost in costs))
