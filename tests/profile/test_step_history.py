"""A run's steps: read from its records, thinned out for the profile, cut where they changed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from array import array
from itertools import pairwise
from pathlib import Path

import pytest
from building import MAIN, ROOT, CaptureBuilder, TraceBuilder

from warplint.capture.layout import RawWriter, Record, RunManifest, raw_name
from warplint.capture.steps.log import StepLog
from warplint.profile.join import join
from warplint.profile.raw.process import RawWindow, WindowClose
from warplint.profile.raw.steps import RawSteps, StepSpan
from warplint.profile.sections.step_points import ChangePoint
from warplint.profile.steps.regimes import MAX_POINTS, StepHistory
from warplint.report.step_history import step_history

MS = 1_000_000


def logged(step_ms: list[float], windows: tuple[tuple[int, int], ...] = ()) -> RawSteps:
    """A run's steps through the log of a capture, with windows between the ends of two steps."""
    log, steps, now_ns = StepLog(), RawSteps(), 5_000 * MS
    ends_ns = [now_ns]
    log.add(1, now_ns)
    for index, ms in enumerate(step_ms, start=2):
        now_ns += round(ms * MS)
        ends_ns.append(now_ns)
        log.add(index, now_ns)
        for first, last in windows:
            if index == first:
                log.keep(index, ends_ns[-24:])
            elif index == last:
                log.thin_out_after(index + 24)
    log.finish(len(ends_ns))
    ends, buckets = log.take()
    steps.add_ends(ends)
    steps.add_buckets(buckets)
    return steps


def window(number: int, first: int, last: int, kind: str = "optimizer") -> RawWindow:
    close = WindowClose(0, last, None, None, [], [], {}, {})
    return RawWindow(number, 0, step=first, step_kind=kind, close=close)


def scattered(seed: int, *levels: tuple[float, int]) -> list[float]:
    chance = random.Random(seed)
    return [ms * chance.lognormvariate(0, 0.03) for ms, count in levels for _ in range(count)]


def history(step_ms: list[float], *windows: RawWindow) -> StepHistory:
    inside = tuple((each.step, each.close.step) for each in windows if each.close)
    return StepHistory(list(logged(step_ms, inside).spans()), windows)


@pytest.mark.parametrize("count", [1_000, 25_000, 120_000])
def test_every_step_but_the_first_is_in_one_span(count: int) -> None:
    spans = list(logged(scattered(1, (1, count - 1)), ((500, 520), (23_000, 23_011))).spans())
    assert (spans[0].first, spans[-1].last) == (2, count)
    assert all(late.first == early.last + 1 for early, late in pairwise(spans))
    assert all(late.begin_ns == early.end_ns for early, late in pairwise(spans))
    assert all(span.shortest_ns <= span.median_ns <= span.longest_ns for span in spans)


def test_a_single_step_is_as_long_as_from_end_to_end() -> None:
    steps = RawSteps()
    steps.add_ends(array("q", [7, 1_000, 8, 1_200, 9, 1_700]))
    assert list(steps.spans()) == [
        StepSpan(8, 8, 1_000, 1_200, 200, 200, 200),
        StepSpan(9, 9, 1_200, 1_700, 500, 500, 500),
    ]
    assert steps.ends_ns == [1_000, 1_200, 1_700]


def test_steps_beside_a_window_that_are_in_a_bucket_too_count_once() -> None:
    steps = RawSteps()
    steps.add_ends(array("q", [1, 100, 4, 400, 5, 500, 6, 650]))
    steps.add_buckets(array("q", [5, 4, 500, 90, 100, 110]))
    assert list(steps.spans()) == [
        StepSpan(2, 5, 100, 500, 90, 100, 110),
        StepSpan(6, 6, 500, 650, 150, 150, 150),
    ]
    assert steps.ends_ns == [100, 400, 500, 650]


def test_a_gap_that_no_record_covers_is_no_step() -> None:
    steps = RawSteps()
    steps.add_ends(array("q", [1, 100, 2, 200, 9, 900, 10, 1_000]))
    assert [(span.first, span.last) for span in steps.spans()] == [(2, 2), (10, 10)]


def test_points_of_a_short_run_are_its_steps() -> None:
    points = history([10.0, 20.0, 60.0]).points()
    assert [(each.step, each.steps, each.end_us) for each in points] == [
        (2, 1, 10_000),
        (3, 1, 30_000),
        (4, 1, 90_000),
    ]
    assert points[2].mean_us == points[2].median_us == points[2].shortest_us == points[2].longest_us == 60_000


@pytest.mark.parametrize("count", [1_500, 60_000])
def test_points_are_bounded_and_cover_the_run(count: int) -> None:
    found = history(scattered(2, (10, count)), window(1, 100, 111), window(2, 900, 911))
    points = found.points()
    assert len(points) <= MAX_POINTS * 1.5
    assert sum(each.steps for each in points) == count
    assert points[-1].step == count + 1
    captured = [each for each in points if each.captured]
    assert sum(each.steps for each in captured) == 24
    assert all(each.shortest_us <= each.median_us <= each.longest_us for each in points)
    total_us = sum(each.mean_us * each.steps for each in points)
    assert total_us == pytest.approx(points[-1].end_us)


def test_a_change_is_told_with_both_levels_and_the_window_since() -> None:
    found = history([*[41.0] * 1_199, *[63.0] * 800], window(1, 10, 21), window(2, 1_300, 1_311))
    (change,) = found.changes(unix_minus_host_ns=7_000 * MS)
    assert change == ChangePoint(
        step=1_201,
        at_us=1_199 * 41_000,
        unix_s=pytest.approx(12 + 1_199 * 0.041),
        before_us=41_000,
        after_us=63_000,
        window=2,
        at_window=None,
    )
    assert found.latest([window(1, 10, 21), window(2, 1_300, 1_311)]) == [window(2, 1_300, 1_311)]


def test_a_change_in_a_long_run_is_told_to_the_step() -> None:
    (change,) = history(scattered(3, (10, 15_000), (14, 4_000))).changes(None)
    assert abs(change.step - 15_002) <= 1
    assert change.unix_s is None and change.window is None


def test_a_change_among_buckets_is_told_to_the_bucket() -> None:
    (change,) = history(scattered(4, (10, 90_000), (14, 30_000))).changes(None)
    assert abs(change.step - 90_002) <= 16, "so far on buckets hold sixteen steps"


def test_the_steps_of_a_window_are_no_change() -> None:
    step_ms = [*[40.0] * 100, *[90.0] * 40, *[40.0] * 100]
    assert [each.step for each in history(step_ms).changes(None)] == [102, 142]
    assert history(step_ms, window(1, 101, 140)).changes(None) == []


def test_a_program_that_is_slower_after_a_window_may_be_so_because_of_it() -> None:
    (change,) = history([*[40.0] * 100, *[90.0] * 12, *[50.0] * 100], window(1, 101, 112)).changes(None)
    assert (change.at_window, change.window) == (1, None)


def test_windows_of_steps_alike_are_kept_together() -> None:
    windows = [window(1, 10, 21), window(2, 300, 311)]
    assert history([40.0] * 500, *windows).latest(windows) == windows


def test_windows_of_module_calls_are_no_training_windows() -> None:
    windows = [window(1, 10, 21, "module"), window(2, 300, 311)]
    assert history([40.0] * 500, *windows).latest(windows) == windows[1:]


def test_the_last_window_is_shown_though_steps_changed_since() -> None:
    windows = [window(1, 10, 21), window(2, 300, 311)]
    found = history([*[40.0] * 200, *[60.0] * 200, *[80.0] * 200], *windows)
    assert found.latest(windows) == windows[1:]
    assert [each.window for each in found.changes(None)] == [2, None]


def test_a_run_without_steps_has_no_history() -> None:
    empty = StepHistory([], [window(1, 0, 0)])
    assert (empty.points(), empty.changes(None)) == ([], [])
    assert empty.latest([window(1, 0, 0)]) == [window(1, 0, 0)]


def change(step: int, before_ms: float, after_ms: float, *, at: int | None = None) -> ChangePoint:
    return ChangePoint(step, 0.0, None, before_ms * 1000, after_ms * 1000, 2, at)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ([], None),
        ([change(1200, 41, 63)], "steps took 41.0 ms until step 1,200, 63.0 ms since"),
        (
            [change(300, 0.5, 1.25), change(900, 1.25, 141)],
            "steps took 0.50 ms until step 300, 1.25 ms until step 900, 141 ms since",
        ),
        (
            [change(step, 40, 50) for step in (10, 20, 30, 4_000)],
            "step time changed 4 times, last at step 4,000: 40.0 ms until then, 50.0 ms since",
        ),
        (
            [change(30, 40, 50, at=1)],
            "steps took 40.0 ms until step 30, 50.0 ms since, when window 1 was open: "
            "the capture may have a part in it",
        ),
        (
            [ChangePoint(30, 0.0, None, 40_000, 50_000, None, None)],
            "steps took 40.0 ms until step 30, 50.0 ms since; no window was opened since",
        ),
    ],
)
def test_changes_are_told_in_one_sentence(changes: list[ChangePoint], sentence: str | None) -> None:
    assert step_history(changes) == sentence


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """200 steps of 100 us with a window, then 200 of 300 us with another: other lines, other kernels."""
    capture = CaptureBuilder("a = 1\nb = 2\n", TraceBuilder())
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0", finished=1.0, exit_code=0).write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    capture.write_head(writer)
    begin = 0.0
    for number, (line, step_us, kernel_us) in enumerate([(1, 100, 30), (2, 300, 200)], start=1):
        capture.steps = [begin + step_us * step for step in range(1, 201)]
        capture.window = (begin + 150 * step_us + 10, begin + 155 * step_us + 10)
        capture.lines = {MAIN: [(capture.window[0], line)]}
        capture.trace.events.clear()
        for step in range(151, 155):
            launch = begin + step * step_us + 20
            capture.trace.kernel(launch, launch + 2, launch + 2 + kernel_us, step)
        capture.window_steps = (capture.step + 150, capture.step + 155)
        capture.write_window(writer, tmp_path, number)
        begin = capture.steps[-1]
    writer.write_json(Record.END, {"t_ns": 10**12, "reason": "exit"})
    writer.close()
    return tmp_path


def test_costs_are_those_of_the_latest_steps(changed: Path) -> None:
    profile = join(changed)
    assert [(cost.line, cost.busy_us, cost.launches) for cost in profile.lines] == [(2, 800, 4)]
    assert (profile.totals.steps, profile.totals.wall_us) == (4, 1_200)
    assert (
        "window 1 is left out: its steps took 0.1 ms, those of window 2, which is shown, 0.3 ms"
        in profile.notes
    )
    told = [(each.window, each.steps) for each in profile.windows]
    assert told == [(1, 0), (2, 4)], "what it cost is told all the same"


def test_show_tells_how_steps_changed(changed: Path) -> None:
    def show(*options: str) -> str:
        command = [sys.executable, "-m", "warplint", "show", "--capture", str(changed), *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "steps took 0.10 ms until step 201, 0.30 ms since\n" in show()
    document = json.loads(show("--format", "json"))
    (change,) = document["change_points"]
    assert (change["step"], change["before_us"], change["after_us"], change["window"]) == (201, 100, 300, 2)
    assert [(each["step"], each["steps"]) for each in document["steps"]] == [
        (step, 1) for step in range(2, 401)
    ]
    assert [each["step"] for each in document["steps"] if each["captured"]] == [
        *range(151, 157),
        *range(351, 357),
    ]
