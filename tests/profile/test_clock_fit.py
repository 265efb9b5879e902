"""Mapping the trace's clock to the line timeline's."""

from __future__ import annotations

import pytest
from building import TRACE_ORIGIN_US, TraceBuilder

from warplint.profile.kineto.clock import ClockError, Marker, Pair, find_markers, fit_clock, unix_pairs

SECOND = 1_000_000_000


def test_pairs_give_offset_and_drift() -> None:
    # The host's clock runs ten millionths faster: 10 us in a second.
    pairs = [Pair(0, 500), Pair(SECOND, 500 + SECOND + 10_000), Pair(2 * SECOND, 500 + 2 * SECOND + 20_000)]
    clock = fit_clock(pairs, [])
    assert clock.host_ns(0) == 500
    assert clock.host_ns(SECOND // 2) == 500 + SECOND // 2 + 5_000
    assert clock.residual_us == 0


def test_markers_alone_are_matched_at_their_end() -> None:
    # Entering takes 100 us and leaving nothing: the middles of bracket and record are 50 us apart.
    markers = [Marker(start, start + 50, start + 900, start + 101_050) for start in (0, SECOND, 2 * SECOND)]
    clock = fit_clock([], markers)
    assert clock.host_ns(50) == 101_050
    assert clock.violation_us == 0


def test_one_preempted_marker_spoils_nothing() -> None:
    ends = [index * SECOND // 10 for index in range(10)]
    markers = [Marker(end - 20, end, end + 900, end + 1_000) for end in ends]
    markers[4] = Marker(ends[4] - 20, ends[4], ends[4] + 900, ends[4] + 5_000_000)
    clock = fit_clock([], markers)
    assert clock.host_ns(ends[7]) == ends[7] + 1_000
    assert clock.residual_us == 0


def test_one_marker_means_no_drift() -> None:
    clock = fit_clock([], [Marker(0, 100, 1_000, 1_100)])
    assert clock.host_ns(SECOND) == SECOND + 1_000


def test_readings_too_close_together_do_not_make_a_drift() -> None:
    clock = fit_clock([Pair(0, 0), Pair(1_000, 1_500)], [])
    assert clock.drift == 0


def test_markers_outside_their_stamps_are_told() -> None:
    pairs = [Pair(0, 0), Pair(SECOND, SECOND)]
    clock = fit_clock(pairs, [Marker(100, 200, 150, 400), Marker(1_000, 1_100, 900, 1_070)])
    assert clock.violation_us == 0.05


def test_nothing_to_fit() -> None:
    with pytest.raises(ClockError):
        fit_clock([], [])


def test_markers_are_found_as_annotations_and_as_operators() -> None:
    builder = TraceBuilder()
    builder.annotation("warplint.sync#0", 0, 1)
    builder.op("warplint.sync#1", 10, 11)
    builder.op("warplint.sync#9", 20, 21)
    builder.op("warplint.sync#x", 30, 31)
    found = find_markers(builder.parsed(), [(0, 100, 200), (1, 300, 400)])
    assert found == [Marker(0, 1_000, 100, 200), Marker(10_000, 11_000, 300, 400)]


def test_unix_readings_meet_the_trace_where_kineto_counts_unix_time() -> None:
    builder = TraceBuilder(header={"baseTimeNanoseconds": 7 * SECOND})
    builder.op("aten::mm", 0, 1)
    trace = builder.parsed()
    unix = 7 * SECOND + TRACE_ORIGIN_US * 1000 + 250
    assert unix_pairs(trace, [(1_000, unix, 1_100), (5_000, unix, 900_000)]) == [Pair(250, 1_050)]


def test_without_a_base_the_trace_is_not_in_unix_time() -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 1)
    assert unix_pairs(builder.parsed(), [(0, 0, 0)]) == []


def test_applying_a_clock_moves_every_column() -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 10)
    builder.kernel(2, 3, 9, 1)
    builder.annotation("note", 1, 2)
    builder.arrow(1, (1, 0), (1, 5))
    trace = builder.parsed()
    fit_clock([Pair(0, 1_000_000)], []).apply(trace)
    assert (trace.operators.start[0], trace.operators.end[0]) == (1_000_000, 1_010_000)
    assert (trace.calls.start[0], trace.calls.end[0]) == (1_002_000, 1_003_000)
    assert (trace.work.start[0], trace.work.end[0]) == (1_003_000, 1_009_000)
    assert (trace.annotations.start[0], trace.annotations.end[0]) == (1_001_000, 1_002_000)
    assert trace.arrows.forward[1] == (1, 1_000_000)
    assert trace.arrows.backward[1] == (1, 1_005_000)
