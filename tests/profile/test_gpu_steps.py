"""Hosts that launch a window's steps sooner than the GPU works them off: figures are worked out on paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import MAIN, CaptureBuilder

from warplint.profile.join import join
from warplint.profile.model import LineCost, Profile

SOURCE = "for x in xs:\n    y = model(x)\n    y.mean()\n"
LEAD_IN, FIRST, LAST = 1, 2, 3


def ahead(stream: int = 7) -> CaptureBuilder:
    """Two steps that the host makes in 100 us each, between 100 and 300; the GPU works 400 and 300 us for
    them, once it is done with what was launched before."""
    builder = CaptureBuilder(SOURCE, steps=[100, 200, 300], window=(0, 300))
    builder.lines = {MAIN: [(0, 1), (100, 2), (200, 3)]}
    builder.trace.header["deviceProperties"] = [{"id": 0, "name": "NVIDIA H200"}]
    builder.trace.kernel(50, 60, 350, LEAD_IN)
    builder.trace.kernel(110, 360, 760, FIRST, stream=stream)
    builder.trace.kernel(210, 770, 1070, LAST, stream=stream)
    return builder


def joined(builder: CaptureBuilder, folder: Path) -> Profile:
    return join(builder.write(folder / "capture"))


def at(profile: Profile, line: int) -> LineCost:
    return next(cost for cost in profile.lines if cost.line == line)


def test_steps_are_as_long_as_the_gpu_takes_for_them(tmp_path: Path) -> None:
    profile = joined(ahead(), tmp_path)
    totals = profile.totals
    # From the end of the work before, at 350, to the end of theirs, at 1070: 700 us of work in 720.
    assert (totals.steps, totals.wall_us, totals.gpu_busy_us, totals.gpu_idle_us) == (2, 720, 700, 20)
    assert (at(profile, 2).busy_us, at(profile, 3).busy_us) == (400, 300)
    assert at(profile, 2).share == pytest.approx((400 + 10) / 720)
    assert sum(cost.share for cost in profile.lines) == pytest.approx(1)


def test_it_is_said_that_the_host_ran_ahead(tmp_path: Path) -> None:
    builder = ahead()
    builder.trace.kernel(290, 1070, 6_350, 4)
    said = [note for note in joined(builder, tmp_path).notes if "ahead of the GPU" in note]
    assert said == [
        "window 0: the host launched its steps in 0.1 ms each, ahead of the GPU, which took 3.0 ms each: a "
        "step is counted as that"
    ]


def test_a_host_that_takes_longer_than_its_gpu_keeps_its_own_steps(tmp_path: Path) -> None:
    builder = ahead()
    builder.steps, builder.window = [100, 600, 1_000], (0, 1_000)
    profile = joined(builder, tmp_path)
    # The last kernel ends 70 us after the last step: work of 700 us fits into steps of 900.
    assert (profile.totals.wall_us, profile.totals.gpu_busy_us) == (900, 250 + 400 + 230)
    assert not any("ahead of the GPU" in note for note in profile.notes)


def test_work_that_passes_by_what_was_launched_before_it_counts_whole(tmp_path: Path) -> None:
    builder = ahead(stream=8)
    # Another stream's work, launched before the steps, is done only at the end of theirs.
    builder.trace.kernel(60, 70, 1_000, 4, stream=9)
    profile = joined(builder, tmp_path)
    totals = profile.totals
    # The steps' own work goes on for 700 us, the last of which ends at 1070.
    assert (totals.wall_us, totals.gpu_busy_us, totals.gpu_idle_us) == (700, 700, 0)
    assert sum(cost.share for cost in profile.lines) == pytest.approx(1)


def test_work_that_overlaps_counts_once(tmp_path: Path) -> None:
    builder = ahead()
    builder.trace.kernel(220, 770, 1_070, 4, stream=8)
    assert joined(builder, tmp_path).totals.wall_us == 720


def test_without_steps_it_is_the_window_that_counts(tmp_path: Path) -> None:
    builder = ahead()
    builder.steps = []
    profile = joined(builder, tmp_path)
    # All that was launched from 0 to 300.
    assert (profile.totals.steps, profile.totals.wall_us, profile.totals.gpu_busy_us) == (0, 1_070, 990)
