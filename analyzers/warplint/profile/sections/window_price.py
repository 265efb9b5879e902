"""What a window cost the program: by part of the work in seconds, and as steps before, inside and after."""

from __future__ import annotations

from dataclasses import dataclass

SLOWED = 1.1
"""A window in which steps took so many times as long as before it is said to have disturbed the program."""

SLOWED_BY = "the capture slowed the host, if nothing else did"
OVERSTATED = ", so idle time by launch and host is overstated (`warplint run --light` slows it less)"


@dataclass(frozen=True, slots=True)
class WindowPrice:
    """One window's price; None where it was not measured. Steps are medians of the nearest ones."""

    window: int
    start_s: float | None
    inside_s: float | None
    """How much longer the steps inside took than as many before it."""
    stop_s: float | None
    write_s: float | None
    step_before_ms: float | None
    step_inside_ms: float | None
    step_after_ms: float | None
    steps: int
    """Its whole steps that ``Totals.steps`` counts: 0 of a window that is left out."""

    def sentences(self, on_gpu: bool) -> list[str]:
        """``on_gpu`` is whether GPU work was captured: else no time is told to have been idle."""
        costs = [
            ("start", self.start_s, ""),
            ("inside", self.inside_s, " extra"),
            ("stop", self.stop_s, ""),
            ("write", self.write_s, ""),
        ]
        parts = [f"{part} {cost:.2f} s{what}" for part, cost, what in costs if cost is not None]
        before, inside, after = self.step_before_ms, self.step_inside_ms, self.step_after_ms
        places = {"before": before, "inside": inside, "after": after}
        times = [f"{place} {ms:.1f} ms" for place, ms in places.items() if ms is not None]
        said = []
        if self.start_s is not None:
            median = f"; median step {', '.join(times)}" if times else ""
            said.append(f"window {self.window} cost the program: {', '.join(parts)}{median}")
        # Where the steps after it are as slow, it was not the window that slowed them.
        if before and inside and inside > SLOWED * max(before, after or 0.0):
            longer = f"steps took {inside / before:.1f} times as long inside window {self.window}"
            said.append(f"{longer}: {SLOWED_BY}{OVERSTATED if on_gpu else ''}")
        return said
