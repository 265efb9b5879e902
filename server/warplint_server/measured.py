"""What a capture measured on a line, in words: one figure for a message, a table for a hover."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from warplint.profile.model import IdleCause, LineCost, Profile, Totals
from warplint.report.costs_columns import LEAST_SHARE
from warplint.report.figures import TIME_UNITS, count, counted, share, short_duration

if TYPE_CHECKING:
    from warplint.profile.follow import PlacedCost

KERNEL_NAME_WIDTH = 64
MARKUP = re.compile(r"[\\`*_~<>|!\[\]]")
WHITESPACE = re.compile(r"\s")
STALE = "measured before this line was edited"

IDLE_LABELS = {
    IdleCause.DATA: "GPU idle, waiting for data",
    IdleCause.SYNC: "GPU idle, host waiting for it",
    IdleCause.COPY: "GPU idle during a copy",
    IdleCause.LAUNCH: "GPU idle, fed too slowly",
    IdleCause.ALLOC: "GPU idle, allocating memory",
    IdleCause.HOST: "GPU idle, host busy elsewhere",
    IdleCause.WARMUP: "GPU idle, loading kernels",
    IdleCause.CAPTURE: "GPU idle, held up by the capture",
    IdleCause.DEVICE: "GPU idle between kernels",
}


def headline(placed: PlacedCost) -> str:
    """The one figure to put beside a finding; empty when the line cost nothing or was edited since."""
    if placed.stale or not placed.cost.share:
        return ""
    return f"Measured: {share(placed.cost.share)} of the captured time."


def markdown_table(placed: PlacedCost, profile: Profile) -> str:
    """A line's costs as a Markdown table whose head says where they come from."""
    rows = [f"| {label} | {value} |" for label, value in figures(placed.cost, profile.totals.steps, _code)]
    stale = [f"*{STALE}*", ""] if placed.stale else []
    return "\n".join([*stale, f"| {literal(origin(profile))} | this line |", "|:--|--:|", *rows])


def plain_table(placed: PlacedCost, profile: Profile) -> str:
    """The same for a client that shows no Markdown."""
    rows = [f"  {label}: {value}" for label, value in figures(placed.cost, profile.totals.steps, str)]
    stale = [STALE] if placed.stale else []
    return "\n".join([*stale, origin(profile), *rows])


def figures(cost: LineCost, steps: int, quote: Callable[[str], str]) -> list[tuple[str, str]]:
    """What is not zero, for each of the steps, with its label; ``quote`` sets off kernel names."""
    each = max(steps, 1)
    listed = [
        ("GPU busy", cost.busy_us, duration),
        ("forward", cost.gpu_forward_us, duration),
        ("backward", cost.gpu_backward_us, duration),
        ("optimizer", cost.gpu_optimizer_us, duration),
        *((label, cost.idle_us.get(cause, 0.0), duration) for cause, label in IDLE_LABELS.items()),
        ("host", cost.cpu_us, duration),
        ("launches", cost.launches, count),
        ("copies", cost.copies, count),
        ("copied", cost.copy_bytes, data_size),
        ("waits for the GPU", cost.waits, count),
        ("waited", cost.wait_us, duration),
        ("launch queue full", cost.felt_queue_us, duration),
        ("copies not hidden", cost.exposed_copy_us, duration),
    ]
    kernels = [
        (quote(_shortened(kernel.name)), f"{duration(kernel.us / each)} in {count(kernel.count / each)}")
        for kernel in cost.kernels
    ]
    part = [("share of the captured time", share(cost.share))] if cost.share else []
    return [*part, *((label, show(value / each)) for label, value, show in listed if value), *kernels]


def brief(costs: Sequence[LineCost], totals: Totals, unit: str = "") -> str:
    """Lines together in one short text for each of the steps: ``2.1 ms · 12% · 8 waits``.

    The time is what the share is a share of: GPU busy and idle time, or without a GPU that of the host.
    ``unit`` says what the time is for. Empty when the lines cost nothing.
    """
    each = max(totals.steps, 1)
    if totals.on_gpu:
        time_us, kind = sum(cost.busy_us + cost.total_idle_us for cost in costs) / each, ""
    else:
        time_us, kind = sum(cost.cpu_us for cost in costs) / each, " CPU"
    part = sum(cost.share for cost in costs)
    waits = sum(cost.waits for cost in costs) / each
    said = [
        f"{short_duration(time_us)}{kind}{unit}" if time_us else "",
        share(part) if part >= LEAST_SHARE else "",
        f"{count(waits)} {'wait' if waits == 1 else 'waits'}" if waits else "",
    ]
    return " · ".join(filter(None, said))


def marked(text: str, stale: bool) -> str:
    """A short text that says so when what it tells of was edited since."""
    return f"{text} (stale)" if text and stale else text


def duration(us: float) -> str:
    """A time in the largest unit that leaves a digit before the point."""
    for size_us, unit in TIME_UNITS:
        if us >= size_us:
            return f"{us / size_us:.2f} {unit}"
    return f"{us:.1f} µs"


def data_size(size_bytes: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size_bytes >= size:
            return f"{size_bytes / size:.2f} {unit}"
    return f"{size_bytes:.0f} B"


def origin(profile: Profile) -> str:
    """What figures are for, and where they come from."""
    totals = profile.totals
    measured = f"a step, of {counted(totals.steps, 'step')}" if totals.steps else "the whole capture"
    return f"{measured} on {totals.device}, {profile.name}"


def _shortened(name: str) -> str:
    return name if len(name) <= KERNEL_NAME_WIDTH else name[: KERNEL_NAME_WIDTH - 1] + "…"


def literal(text: str) -> str:
    """Text as it is, in a table's cell.

    A capture can come with the workspace: its names must not bring links or pictures into a hover.
    """
    return MARKUP.sub(r"\\\g<0>", _in_one_line(text))


def _code(name: str) -> str:
    """A name as code in a table's cell, which a bar would end even there."""
    return "`" + _in_one_line(name).replace("`", " ").replace("|", "\\|") + "`"


def _in_one_line(text: str) -> str:
    return WHITESPACE.sub(" ", text)
