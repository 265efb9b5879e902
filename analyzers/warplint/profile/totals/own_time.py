"""Tells the capture's own time from the program's.

Recording makes each launch, and the operators around it, take the host longer; in a launch-bound program the
GPU idles for it. The steps beside the window tell how long one takes unrecorded. What the window's steps took
longer is shared over the lines by the launches that each made, as far as their idle time by LAUNCH and HOST
goes, and becomes idle time by CAPTURE. Lines that launch nothing (a sleep) keep all of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable

from warplint.profile.model import IdleCause
from warplint.profile.sections.window_price import WindowPrice
from warplint.profile.totals.tally import LineTally, Tally

SLOWED_BY_RECORDING = (IdleCause.LAUNCH, IdleCause.HOST)


def discount_capture(tally: Tally, price: WindowPrice) -> None:
    """Change the cause of the capture's part of ``tally``'s idle time; its sum stays."""
    left_ns = _extra_ns_a_step(price) * tally.steps
    lines = [line for line in tally.lines.values() if line.launches]
    # A line without enough idle time leaves the rest of its share to the others.
    while left_ns > 0 and (able := [line for line in lines if _available_ns(line)]):
        launches = sum(line.launches for line in able)
        taken_ns = sum(_take(line, left_ns * line.launches // launches) for line in able)
        if not taken_ns:
            return
        left_ns -= taken_ns


def _extra_ns_a_step(price: WindowPrice) -> int:
    """0 where it is unknown, and where the steps after the window are as slow as those inside."""
    beside = [ms for ms in (price.step_before_ms, price.step_after_ms) if ms is not None]
    if price.step_inside_ms is None or price.step_before_ms is None:
        return 0
    return max(0, round((price.step_inside_ms - max(beside)) * 1e6))


def _available_ns(line: LineTally) -> int:
    return _sum_ns(line, SLOWED_BY_RECORDING)


def _sum_ns(line: LineTally, causes: Iterable[IdleCause]) -> int:
    return sum(line.idle_ns.get(cause, 0) for cause in causes)


def _take(line: LineTally, wanted_ns: int) -> int:
    """Move up to ``wanted_ns`` of the line's idle time; returns how much."""
    taken_ns = 0
    for cause in SLOWED_BY_RECORDING:
        part_ns = min(wanted_ns - taken_ns, line.idle_ns.get(cause, 0))
        if part_ns > 0:
            line.idle_ns[cause] -= part_ns
            line.idle_ns[IdleCause.CAPTURE] += part_ns
            taken_ns += part_ns
    return taken_ns
