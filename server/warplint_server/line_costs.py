"""What stands at the end of a measured line, whoever draws it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warplint_server.measured import brief
from warplint_server.settings import Settings
from warplint_server.workspace import Measured


@dataclass(frozen=True, slots=True)
class LineText:
    """The text for a ``line`` (from 1). ``share`` of the captured time is from 0 to 1."""

    line: int
    text: str
    stale: bool
    share: float


def line_costs(measured: Measured, settings: Settings) -> Iterator[LineText]:
    """The lines that are worth a text, from the top: those with a share that counts, or that wait."""
    if measured.profile is None or not settings.inline_costs:
        return
    for line, placed in sorted(measured.costs.items()):
        cost = placed.cost
        if cost.share >= settings.minimum_share or cost.waits:
            text = brief([cost], measured.profile.totals)
            if text:
                yield LineText(line, text, placed.stale, cost.share)
