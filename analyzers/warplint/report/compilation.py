"""What torch.compile did and left undone, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warplint.profile.model import Profile
from warplint.profile.sections.compilation import GraphBreak, Recompilation
from warplint.report.figures import count, counted

PLACES_NAMED = 3
REASON_SHOWN = 90
"""Characters of a reason: JSON has all of it."""
LEAST_FUSED_SHARE = 0.01
"""Of the GPU's time: less changes nothing that is read off the lines."""


def compilation(profile: Profile) -> Iterator[str]:
    """Sentences; none for a program that compiled nothing."""
    gpu_us = sum(cost.gpu_us for cost in profile.lines)
    fused_us = sum(cost.fused_us for cost in profile.lines)
    if gpu_us and fused_us >= LEAST_FUSED_SHARE * gpu_us:
        yield (
            f"{fused_us / gpu_us:.0%} of the GPU time is in kernels that torch.compile fused "
            "from several lines, divided evenly among them"
        )
    if profile.graph_breaks:
        yield f"torch.compile broke off at {_places('line', profile.graph_breaks)}"
    if profile.recompilations:
        times = sum(each.count for each in profile.recompilations)
        what = "once" if times == 1 else f"{count(times)} times"
        yield f"torch.compile compiled again {what}: {_named(profile.recompilations)}"


def _places(what: str, events: Sequence[GraphBreak]) -> str:
    return f"{counted(len({(event.file, event.line) for event in events}), what)}: {_named(events)}"


def _named(events: Sequence[GraphBreak | Recompilation]) -> str:
    dearest = sorted(events, key=lambda event: -event.count)[:PLACES_NAMED]
    named = "; ".join(f"{event.file}:{event.line} ({_shortened(event.reason)})" for event in dearest)
    more = len(events) - len(dearest)
    return named + (f"; and {count(more)} more" if more else "")


def _shortened(reason: str) -> str:
    return reason if len(reason) <= REASON_SHOWN else reason[: REASON_SHOWN - 1] + "…"
