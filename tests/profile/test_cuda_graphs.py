"""Kernels of replayed CUDA graphs: on the lines that captured them, where that can be told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from building import MAIN, CaptureBuilder, TraceBuilder, host_ns

from warplint.capture.layout import Record
from warplint.profile.attribution.charge import Charger, Phase
from warplint.profile.attribution.graphs import CapturedLaunch, ReplayedLines, captured_launches
from warplint.profile.join import join
from warplint.profile.kineto.reader import read_trace
from warplint.profile.model import LineCost, Profile
from warplint.profile.raw.process import RawProcess, RawWindow
from warplint.profile.timeline import Places, Timeline

DATA = Path(__file__).parent / "data"
SOURCE = "\n".join(
    [
        "with torch.cuda.graph(graph):",
        "    a = x @ w",
        "    b = a.relu()",
        "    out.copy_(b)",
        "for x in data:",
        "    graph.replay()",
        "    optimizer.step()",
    ]
)
MATMUL, RELU, COPY, REPLAY = 2, 3, 4, 6


def cuda_graph(window: int | None, begin: float, end: float, **trace: Any) -> tuple[Record, dict[str, Any]]:
    empty = {"trace": None, "markers": [], "clock": []}
    return Record.CUDA_GRAPH, {
        "graph": 1, "window": window, "begin_ns": host_ns(begin), "end_ns": host_ns(end), "thread": MAIN
    } | empty | trace  # fmt: skip


def replays(*times: float, graph: int = 1) -> tuple[Record, dict[str, Any]]:
    return Record.CUDA_REPLAYS, {"window": 0, "replays": [[host_ns(time), graph] for time in times]}


def capture_in(trace: TraceBuilder) -> None:
    """Three launches that start nothing: a product, a kernel, a copy; and one that runs at once."""
    trace.kernel(20, 30, 35, 1, "philox_seed")
    trace.call("cudaLaunchKernel", 110, 112, 2)
    trace.call("cudaStreamIsCapturing", 115, 116, 3)
    trace.call("cudaLaunchKernel", 120, 122, 4)
    trace.call("cudaMemcpyAsync", 130, 132, 5)


def replay_in(trace: TraceBuilder, at: float, correlation: int, *names: str) -> None:
    """Ten, twenty, thirty … microseconds of work."""
    trace.call("cudaGraphLaunch", at, at + 5, correlation)
    start = at + 10.0
    for number, name in enumerate(names, 1):
        trace.work(name, start, start + 10 * number, correlation)
        start += 10 * number


WORK = ("gemm", "relu", "Memcpy DtoD (Device -> Device)")


@pytest.fixture
def builder() -> CaptureBuilder:
    """The graph is captured and replayed in one step of one window."""
    capture = CaptureBuilder(SOURCE, window=(0, 1000), steps=[1, 999])
    capture.lines[MAIN] = [(0, 1), (105, MATMUL), (118, RELU), (128, COPY), (150, 1), (200, REPLAY), (800, 7)]
    capture_in(capture.trace)
    replay_in(capture.trace, 300, 10, *WORK)
    capture.compiled = [cuda_graph(0, 15, 160), replays(299)]
    return capture


def joined(builder: CaptureBuilder, folder: Path) -> Profile:
    return join(builder.write(folder / "capture"))


def gpu_us(profile: Profile) -> dict[int, float]:
    return {cost.line: cost.gpu_us for cost in profile.lines if cost.gpu_us}


def at(profile: Profile, line: int) -> LineCost:
    return next(cost for cost in profile.lines if cost.line == line)


def test_replayed_work_is_on_the_lines_that_captured_it(builder: CaptureBuilder, tmp_path: Path) -> None:
    assert gpu_us(joined(builder, tmp_path)) == {1: 5, MATMUL: 10, RELU: 20, COPY: 30}


def test_a_replay_is_one_launch_of_its_line(builder: CaptureBuilder, tmp_path: Path) -> None:
    profile = joined(builder, tmp_path)
    assert at(profile, REPLAY).launches == 1
    assert profile.totals.kernels == 3, "the two of the graph, and the one that ran at once"


def test_every_replay_counts(builder: CaptureBuilder, tmp_path: Path) -> None:
    replay_in(builder.trace, 500, 11, *WORK)
    builder.compiled[1] = replays(299, 499)
    assert gpu_us(joined(builder, tmp_path)) == {1: 5, MATMUL: 20, RELU: 40, COPY: 60}


def test_a_copy_may_be_replayed_by_a_kernel(builder: CaptureBuilder, tmp_path: Path) -> None:
    builder.trace.events.clear()
    capture_in(builder.trace)
    replay_in(builder.trace, 300, 10, "gemm", "relu", "copy_kernel")
    assert gpu_us(joined(builder, tmp_path)) == {1: 5, MATMUL: 10, RELU: 20, COPY: 30}


@pytest.mark.parametrize(
    "work",
    [("gemm", "splitKreduce", "relu", WORK[2]), ("gemm", WORK[2], "relu"), ("gemm", "relu")],
    ids=["more", "other kinds", "fewer"],
)
def test_work_that_does_not_match_the_capture_stays_on_the_replay(
    builder: CaptureBuilder, tmp_path: Path, work: tuple[str, ...]
) -> None:
    builder.trace.events.clear()
    capture_in(builder.trace)
    replay_in(builder.trace, 300, 10, *work)
    profile = joined(builder, tmp_path)
    assert gpu_us(profile) == {1: 5, REPLAY: sum(10 * number for number in range(1, len(work) + 1))}
    assert any(note.startswith("1 replays of CUDA graphs are on the line") for note in profile.notes)


def test_streams_that_wait_for_each_other_have_no_one_order(builder: CaptureBuilder, tmp_path: Path) -> None:
    builder.trace.call("cudaStreamWaitEvent", 114, 115, 6)
    assert gpu_us(joined(builder, tmp_path)) == {1: 5, REPLAY: 60}


def test_a_graph_of_which_nothing_is_known_stays_on_the_replay(
    builder: CaptureBuilder, tmp_path: Path
) -> None:
    builder.compiled[1] = replays(299, graph=0)
    assert gpu_us(joined(builder, tmp_path)) == {1: 5, REPLAY: 60}


def test_a_capture_outside_windows_has_a_trace_of_its_own(builder: CaptureBuilder, tmp_path: Path) -> None:
    """What is outside the window, and its lines, come before it in the file."""
    builder.trace.events.clear()
    builder.window = (250, 1000)
    builder.steps = [251, 999]
    replay_in(builder.trace, 300, 10, *WORK)
    captured = CaptureBuilder(SOURCE, window=(0, 200))
    capture_in(captured.trace)
    markers = [[0, host_ns(-3), host_ns(-1)], [1, host_ns(197), host_ns(199)]]
    name = "rank0.1.g1.trace.json"
    builder.compiled[0] = cuda_graph(None, 15, 160, trace=name, markers=markers)
    folder = tmp_path / "capture"
    builder.write(folder)
    captured.write_trace(folder / name)
    assert gpu_us(join(folder)) == {MATMUL: 10, RELU: 20, COPY: 30}
    (folder / name).write_text(json.dumps({}))
    assert gpu_us(join(folder)) == {REPLAY: 60}


def test_a_real_capture_has_the_launches_of_its_real_replays() -> None:
    """Forward and backward of a small loss: 16 kernels and a fill, told from two kernels that ran at once."""
    capture = read_trace(DATA / "h200-cuda-graph-capture.json.gz")
    replay = read_trace(DATA / "h200-cuda-graph-replay.json.gz")
    timeline = Timeline(RawWindow(1, 0), Places(RawProcess(Path("raw"))))
    charger = Charger(capture, timeline, capture.calls.thread[0])
    launches = captured_launches(capture, charger, min(capture.calls.start), max(capture.calls.end) + 1)
    assert launches is not None
    assert [launch.kind.name for launch in launches] == [*["KERNEL"] * 4, "FILL", *["KERNEL"] * 12]
    assert [launch.phase for launch in launches].count(Phase.BACKWARD) == 9
    placed = [CapturedLaunch(launch.kind, number, launch.phase) for number, launch in enumerate(launches, 1)]
    lines = ReplayedLines(replay, [(min(replay.calls.start), 1)], {1: placed})
    by_correlation: dict[int, list[int]] = {}
    for work in sorted(range(len(replay.work)), key=lambda work: replay.work.start[work]):
        found = lines.of_work(work)
        assert found is not None
        by_correlation.setdefault(replay.work.correlation[work], []).append(found.place)
    assert list(by_correlation.values()) == [list(range(1, 18))] * 2
