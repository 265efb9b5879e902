"""The stretches of a run in which a step took about the same time, and which of them a window shows.

What a line costs a step differs from stretch to stretch, so windows of several are not summed. Shown are
those of the last stretch that has one, since that is how the program runs by now.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from warplint.profile.raw.process import RawProcess, RawWindow
from warplint.profile.raw.steps import StepSpan
from warplint.profile.sections.step_points import ChangePoint, StepPoint
from warplint.profile.steps.change_points import best_split, change_points

SERIES = 4_000
"""So many times a run is looked at by at most; with more steps, medians of several."""
MAX_POINTS = 1_000
"""Points of the ``steps`` section: about as many as a screen is wide."""
BESIDE = 2
"""A change is found to a step or two: so near a window it may be of the window's making."""
SEARCHED = 15
"""A change between medians is searched among the steps of so many of them on either side."""


@dataclass(frozen=True, slots=True)
class Regime:
    """A stretch of steps, ``first`` to ``last``, and what one took in the median."""

    first: int
    last: int
    begin_ns: int
    median_ns: float


def step_history(process: RawProcess) -> StepHistory:
    return StepHistory(list(process.steps.spans()), process.windows)


def unix_minus_host_ns(process: RawProcess) -> int | None:
    """What to add to the process's clock for Unix time; None where its record does not tell."""
    anchor = process.process.get("anchor")
    return None if anchor is None else int(anchor["unix_ns"]) - int(anchor["perf_ns"])


class StepHistory:
    """A run's steps by stretch."""

    def __init__(self, spans: Sequence[StepSpan], windows: Sequence[RawWindow]) -> None:
        self._spans, self._windows = spans, windows
        self._origin_ns = spans[0].begin_ns if spans else 0
        disturbed = (any(_disturbs(window, span) for window in windows) for span in spans)
        self._captured = list(disturbed)
        own = [span for span, captured in zip(spans, self._captured, strict=True) if not captured]
        self.regimes = _regimes(own)

    def regime_of(self, step: int) -> int:
        """The number of the stretch in which this step ended."""
        earlier = [number for number, regime in enumerate(self.regimes) if regime.first <= step]
        return earlier[-1] if earlier else 0

    def latest(self, windows: Sequence[RawWindow]) -> list[RawWindow]:
        """Those with steps like the last one's: of its kind, and of its stretch."""
        last = windows[-1:]
        return [
            each
            for each in windows
            for other in last
            if each.step_kind == other.step_kind and self.regime_of(each.step) == self.regime_of(other.step)
        ]

    def step_us(self, window: RawWindow) -> float:
        """The median step of the stretch that a window is of; 0 where nothing is known of it."""
        return self.regimes[self.regime_of(window.step)].median_ns / 1000 if self.regimes else 0.0

    def points(self) -> list[StepPoint]:
        """The whole run in at most ``MAX_POINTS`` points and a few for each window."""
        most = max(1, sum(span.steps for span in self._spans) // MAX_POINTS)
        points: list[StepPoint] = []
        held: list[StepSpan] = []
        for index, span in enumerate(self._spans):
            held.append(span)
            last = index + 1 == len(self._spans) or self._captured[index + 1] != self._captured[index]
            if last or sum(each.steps for each in held) >= most:
                points.append(self._point(held, self._captured[index]))
                held = []
        return points

    def changes(self, unix_minus_host_ns: int | None) -> list[ChangePoint]:
        return [
            self._change(number, before, after, unix_minus_host_ns)
            for number, (before, after) in enumerate(pairwise(self.regimes), start=1)
        ]

    def _change(
        self, number: int, before: Regime, after: Regime, unix_minus_host_ns: int | None
    ) -> ChangePoint:
        inside = [each for each in self._windows if self.regime_of(each.step) == number]
        unix_ns = None if unix_minus_host_ns is None else after.begin_ns + unix_minus_host_ns
        beside = [
            each
            for each in self._windows
            if before.last <= _last_step(each) + 1 + BESIDE and each.step < after.first + BESIDE
        ]
        return ChangePoint(
            step=after.first,
            at_us=(after.begin_ns - self._origin_ns) / 1000,
            unix_s=None if unix_ns is None else unix_ns / 1e9,
            before_us=before.median_ns / 1000,
            after_us=after.median_ns / 1000,
            window=inside[-1].number if inside else None,
            at_window=beside[-1].number if beside else None,
        )

    def _point(self, spans: Sequence[StepSpan], captured: bool) -> StepPoint:
        steps = sum(span.steps for span in spans)
        return StepPoint(
            step=spans[-1].last,
            steps=steps,
            end_us=(spans[-1].end_ns - self._origin_ns) / 1000,
            mean_us=(spans[-1].end_ns - spans[0].begin_ns) / steps / 1000,
            median_us=_median_ns(spans) / 1000,
            shortest_us=min(span.shortest_ns for span in spans) / 1000,
            longest_us=max(span.longest_ns for span in spans) / 1000,
            captured=captured,
        )


def _last_step(window: RawWindow) -> int:
    """The last that had ended when the window was closed; one that was not has all that follow."""
    return sys.maxsize if window.close is None else window.close.step


def _disturbs(window: RawWindow, span: StepSpan) -> bool:
    """A window is opened within one step, and written within another."""
    return span.first <= _last_step(window) + 1 and span.last > window.step


def _regimes(spans: Sequence[StepSpan]) -> list[Regime]:
    groups = list(_groups(spans))
    found = change_points([_median_ns(each) for each in groups])
    bounds = [0, *(_exactly(groups, change) for change in found)]
    return [
        Regime(part[0].first, part[-1].last, part[0].begin_ns, _median_ns(part))
        for begin, end in pairwise([*bounds, len(spans)])
        if (part := spans[begin:end])
    ]


def _groups(spans: Sequence[StepSpan]) -> Iterator[Sequence[StepSpan]]:
    """Consecutive spans with about equally many steps, at most ``SERIES`` of them."""
    most = -(-sum(span.steps for span in spans) // SERIES)
    begin, steps = 0, 0
    for index, span in enumerate(spans):
        steps += span.steps
        if steps >= most or index + 1 == len(spans):
            yield spans[begin : index + 1]
            begin, steps = index + 1, 0


def _exactly(groups: Sequence[Sequence[StepSpan]], change: int) -> int:
    """The number of spans before a change that was found between groups."""
    first, last = max(0, change - SEARCHED), min(len(groups), change + SEARCHED)
    before = sum(len(group) for group in groups[:first])
    near = [span for group in groups[first:last] for span in group]
    found = best_split([span.median_ns for span in near])
    return before + (sum(len(group) for group in groups[first:change]) if found is None else found)


def _median_ns(spans: Sequence[StepSpan]) -> float:
    """The median step: exact where each span is one step, else the median of medians by their steps."""
    ordered = sorted((span.median_ns, span.steps) for span in spans)
    half, seen = sum(steps for _, steps in ordered) / 2, 0
    for index, (median_ns, steps) in enumerate(ordered):
        seen += steps
        if seen > half:
            return median_ns
        if seen == half:
            return statistics.mean((median_ns, ordered[index + 1][0]))
    return 0.0
