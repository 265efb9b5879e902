"""Where steps end, and which of them a window counts."""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from warplint.profile.sections.window_price import WindowPrice

STEPS_BESIDE = 20
"""How many steps before and after a window its own are compared with."""


@dataclass(frozen=True, slots=True)
class StepRange:
    """The time from the first to the last step boundary inside a window; without two, the window itself."""

    begin_ns: int
    end_ns: int
    steps: int
    boundaries_ns: tuple[int, ...] = ()
    """Where one step ends and the next begins."""

    @classmethod
    def within(cls, open_ns: int, close_ns: int, ends_ns: Sequence[int]) -> StepRange:
        inside = sorted(time for time in ends_ns if open_ns <= time <= close_ns)
        if len(inside) < 2:
            return cls(open_ns, max(open_ns, close_ns), 0)
        return cls(inside[0], inside[-1], len(inside) - 1, tuple(inside))

    def holds(self, t_ns: int) -> bool:
        return self.begin_ns <= t_ns < self.end_ns


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The steps around a window; ``ends_ns`` are of the whole run, sorted."""

    open_ns: int
    """When it was open, or when the last step began that was too short to count."""
    close_ns: int
    ends_ns: Sequence[int]
    lead_in: int = 1
    """Steps at its start that do not count: the one in which it was opened, and those that were too short."""

    def price(self, window: int, seconds: Mapping[str, float]) -> WindowPrice:
        """``seconds`` is WINDOW_CLOSE's ``price``, whose ``inside_s`` is how long the window was open."""
        medians = dict(self.medians_ms())
        return WindowPrice(
            window=window,
            start_s=seconds.get("start_s"),
            inside_s=self.extra_s(),
            stop_s=seconds.get("stop_s"),
            write_s=seconds.get("write_s"),
            step_before_ms=medians["before"],
            step_inside_ms=medians["inside"],
            step_after_ms=medians["after"],
            steps=self.whole_steps(),
        )

    def medians_ms(self) -> Iterator[tuple[str, float | None]]:
        """The median step before, inside and after; None where there is no whole step.

        The step in which the window was opened and the one in which it was written count nowhere.
        """
        first, last = self._inside()
        yield "before", self._median_before_ms()
        yield "inside", _median_ms(self.ends_ns[first:last])
        yield "after", _median_ms(self.ends_ns[last : last + STEPS_BESIDE + 1])

    def whole_steps(self) -> int:
        """How many begin and end inside."""
        first, last = self._inside()
        return max(0, last - first - 1)

    def extra_s(self) -> float | None:
        """How much longer the steps inside took than as many median steps before; None without such steps.

        The step in which the window was opened counts from then on: what it did before is the window's start.
        Where others do not count either, those after them do.
        """
        first, last = self._inside()
        before_ms = self._median_before_ms()
        begin_ns = self.open_ns
        if self._short_steps() and first < last:
            first, begin_ns = first + 1, self.ends_ns[first]
        if before_ms is None or first >= last:
            return None
        inside_ms = (self.ends_ns[last - 1] - begin_ns) / 1e6
        # A window makes no program faster: less than nothing is the steps' own scatter.
        return max(0.0, inside_ms - (last - first) * before_ms) / 1000

    def _inside(self) -> tuple[int, int]:
        """The range of the ends that lie inside, from that of the last step that does not count."""
        first = bisect.bisect_left(self.ends_ns, self.open_ns)
        return first, bisect.bisect_right(self.ends_ns, self.close_ns)

    def _median_before_ms(self) -> float | None:
        first, _ = self._inside()
        opened = max(0, first - self._short_steps())
        return _median_ms(self.ends_ns[max(0, opened - STEPS_BESIDE - 1) : opened])

    def _short_steps(self) -> int:
        return max(0, self.lead_in - 1)


def _median_ms(ends_ns: Sequence[int]) -> float | None:
    times = [(late - early) / 1e6 for early, late in pairwise(ends_ns)]
    return statistics.median(times) if times else None
