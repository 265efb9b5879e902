"""What the person who ran a capture is told when the program has ended."""

from __future__ import annotations

import contextlib
import statistics
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from warplint.capture.layout import (
    RAW_SUFFIX,
    UNFOLLOWED,
    WORKER_SUFFIX,
    LayoutError,
    RawReader,
    Record,
    parse_json,
    parse_steps,
)
from warplint.capture.settings import LEAD_IN_STEPS

STEPS_BESIDE = 20
"""How many steps before and after a window its own are compared with."""


DIED_LATER = ": its lines were kept, its operators and kernels are lost"
DIED_AT_ONCE = " before lines of it were written: the times of the steps before it are all that was kept"


@dataclass(slots=True)
class ProcessSummary:
    """One process's raw file in short."""

    rank: int = 0
    pid: int = 0
    loaders: bool = False
    """Whether a DataLoader had worker processes."""
    step_ends_ns: dict[int, int] = field(default_factory=dict)
    opened: list[dict[str, Any]] = field(default_factory=list)
    closed: list[dict[str, Any]] = field(default_factory=list)
    followed: set[int] = field(default_factory=set)
    """The windows of which lines were written."""
    notes: list[str] = field(default_factory=list)
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """``captured`` is whether lines have costs; ``sentences`` say what was captured or not, and the price."""

    captured: bool
    sentences: list[str]


def summarize(folder: Path) -> Summary:
    files = sorted(folder.glob(f"*{RAW_SUFFIX}"))
    if not files:
        reason = "nothing was captured: no process imported torch (or Python ran with -I, -E or -S)"
        return Summary(False, [reason])
    captured, lines = False, list[str]()
    for path in files:
        try:
            process = _read(path)
        except (LayoutError, OSError, KeyError, ValueError) as error:
            lines.append(f"{path.name} cannot be read: {error}")
            continue
        named = f"rank {process.rank} (process {process.pid}): " if len(files) > 1 else ""
        lines.extend(named + sentence for sentence in _sentences(process))
        captured = captured or bool(process.closed or process.followed)
    lines.extend(_of_workers(folder))
    return Summary(captured, lines)


def _of_workers(folder: Path) -> list[str]:
    """Why loader workers were not followed, each reason once. What a killed one was writing is missing."""
    said: dict[str, None] = {}
    for path in sorted(folder.glob(f"*{WORKER_SUFFIX}")):
        with contextlib.suppress(LayoutError, OSError, KeyError, ValueError):
            notes = [
                parse_json(payload) for record, payload in RawReader(path).records() if record is Record.NOTE
            ]
            said |= dict.fromkeys(note["text"] for note in notes if note["code"] == UNFOLLOWED)
    return list(said)


def _read(path: Path) -> ProcessSummary:
    workers = path.parent.glob(f"{path.name.removesuffix(RAW_SUFFIX)}.*{WORKER_SUFFIX}")
    summary = ProcessSummary(loaders=any(workers))
    for record, payload in RawReader(path).records():
        if record is Record.STEPS:
            values = parse_steps(payload)
            summary.step_ends_ns.update(zip(values[::2], values[1::2], strict=True))
        elif record is Record.PROCESS:
            described = parse_json(payload)
            summary.rank, summary.pid = described["rank"], described["pid"]
        elif record is Record.WINDOW_OPEN:
            summary.opened.append(parse_json(payload))
        elif record is Record.WINDOW_CLOSE:
            summary.closed.append(parse_json(payload))
        elif record is Record.LINES and summary.opened:
            summary.followed.add(summary.opened[-1]["window"])
        elif record is Record.NOTE:
            summary.notes.append(parse_json(payload)["text"])
        elif record is Record.END:
            summary.ended = True
    return summary


def _sentences(process: ProcessSummary) -> list[str]:
    closed = {window["window"]: window for window in process.closed}
    sentences = []
    for opened in process.opened:
        window = closed.get(opened["window"])
        if window is None:
            kept = DIED_LATER if opened["window"] in process.followed else DIED_AT_ONCE
            sentences.append(f"the process ended inside window {opened['window']}{kept}")
        else:
            sentences.append(_window(process, opened, window))
            sentences.append(_price(process, opened, window))
    if not process.ended and len(closed) == len(process.opened):
        sentences.append(
            "the process ended without closing its capture: steps of its last second may be missing"
        )
    return sentences + process.notes


def _window(process: ProcessSummary, opened: dict[str, Any], closed: dict[str, Any]) -> str:
    short = closed["lead_in"] - LEAD_IN_STEPS
    first, last = opened["step"] + 1 + LEAD_IN_STEPS + max(0, short), closed["step"]
    steps = f"steps {first} to {last}" if last >= first else "no whole step"
    left_out = f"; {short} {_shorter(process, short)}" if short > 0 else ""
    return f"captured {steps} ({opened['reason']}; closed because {closed['reason']}{left_out})"


def _shorter(process: ProcessSummary, steps: int) -> str:
    does = "shorter one does not count" if steps == 1 else "shorter ones do not count"
    if process.loaders:
        return f"{does}: loaders had data ready that was loaded while it opened"
    return f"{does}: the program was ahead of its usual pace"


def _price(process: ProcessSummary, opened: dict[str, Any], closed: dict[str, Any]) -> str:
    first, last = opened["step"], closed["step"]
    times = {
        "before": _median_ms(process, first - STEPS_BESIDE, first),
        # The first step of a window begins when the window is open, the first after it when it is written.
        "inside": _median_ms(process, first + max(1, closed["lead_in"]), last),
        "after": _median_ms(process, last + 1, last + 1 + STEPS_BESIDE),
    }
    price = closed["price"]
    seconds = [f"{part} {price[f'{part}_s']:.2f} s" for part in ("start", "stop", "write")]
    extra_s = _extra_s(process, closed, times["before"])
    if extra_s is not None:
        seconds.insert(1, f"inside {extra_s:.2f} s extra")
    known = [f"{place} {ms:.1f} ms" for place, ms in times.items() if ms is not None]
    return f"price: {', '.join(seconds)}" + (f"; median step {', '.join(known)}" if known else "")


def _extra_s(process: ProcessSummary, closed: dict[str, Any], before_ms: float | None) -> float | None:
    """How much longer the steps inside took than as many median steps before; None where that is unknown."""
    begin_ns = closed["counts_ns"]
    inside = sorted(
        t_ns for step, t_ns in process.step_ends_ns.items() if step <= closed["step"] and t_ns >= begin_ns
    )
    if closed["lead_in"] > LEAD_IN_STEPS and inside:
        # The step that ended first does not count, and those after it are whole.
        begin_ns = inside.pop(0)
    if before_ms is None or not inside:
        return None
    # A window makes no program faster: less than nothing is the steps' own scatter.
    return float(max(0.0, (inside[-1] - begin_ns) / 1e9 - len(inside) * before_ms / 1e3))


def _median_ms(process: ProcessSummary, first: int, last: int) -> float | None:
    """The median time of the steps that begin at ``first``'s end or later and end by ``last``'s."""
    ends = [process.step_ends_ns[step] for step in range(first, last + 1) if step in process.step_ends_ns]
    times = [(after - before) / 1e6 for before, after in pairwise(ends)]
    return statistics.median(times) if times else None
