"""Captures that are incomplete, of several processes, or no captures at all."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest
from building import MAIN, ROOT, CaptureBuilder, host_ns

from warplint.capture.layout import LayoutError, RawWriter, Record, RunManifest, raw_name, trace_name
from warplint.profile.join import join

SOURCE = "a = 1\nb = 2\n"


@pytest.fixture
def capture() -> CaptureBuilder:
    builder = CaptureBuilder(SOURCE, steps=[0, 100], window=(0, 100))
    builder.lines = {MAIN: [(0, 1), (60, 2)]}
    builder.trace.kernel(10, 20, 50, 1)
    return builder


def test_windows_are_summed(capture: CaptureBuilder, tmp_path: Path) -> None:
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0").write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    capture.write_head(writer)
    capture.write_window(writer, tmp_path, 0)
    capture.window, capture.steps = (500, 700), [500, 600, 700]
    capture.lines = {MAIN: [(500, 2), (690, 1)]}
    capture.trace.events.clear()
    capture.trace.kernel(510, 520, 560, 1)
    capture.write_window(writer, tmp_path, 1)
    writer.close()
    profile = join(tmp_path)
    assert (profile.totals.steps, profile.totals.wall_us, profile.totals.gpu_busy_us) == (3, 300, 70)
    assert {cost.line: (cost.busy_us, cost.cpu_us) for cost in profile.lines} == {1: (30, 70), 2: (40, 230)}


def test_killed_inside_the_only_window(capture: CaptureBuilder, tmp_path: Path) -> None:
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0", finished=1.0, signal=9).write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    capture.write_head(writer)
    writer.write_json(Record.WINDOW_OPEN, {"window": 0, "t_ns": host_ns(0)})
    flat = array("q", [host_ns(0), 1, 1, host_ns(60), 1, 2, host_ns(90), 0, 0])
    writer.write_lines(MAIN, flat)
    writer.close()
    path = tmp_path / raw_name(0, 1)
    path.write_bytes(path.read_bytes() + b"\x04cut")
    profile = join(tmp_path)
    assert {cost.line: cost.cpu_us for cost in profile.lines} == {1: 60, 2: 30}
    assert profile.totals.device == "cpu"
    assert profile.notes == [
        "the process ended inside window 0: its GPU records are lost, and 4 bytes of its last record"
    ]


def test_killed_inside_a_later_window_the_finished_ones_stand(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0", finished=1.0, signal=9).write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    capture.write_head(writer)
    capture.write_window(writer, tmp_path, 0)
    writer.write_json(Record.WINDOW_OPEN, {"window": 1, "t_ns": host_ns(500)})
    writer.write_lines(MAIN, array("q", [host_ns(500), 1, 2]))
    writer.close()
    profile = join(tmp_path)
    assert (profile.totals.gpu_busy_us, profile.totals.wall_us) == (30, 100)
    assert "the process ended inside window 1: its GPU records are lost" in profile.notes


def test_read_while_the_run_goes_on(capture: CaptureBuilder, tmp_path: Path) -> None:
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0").write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    capture.write_head(writer)
    capture.write_window(writer, tmp_path, 0)
    assert "the run goes on, or was killed" in join(tmp_path).notes
    writer.write_json(Record.WINDOW_OPEN, {"window": 1, "t_ns": host_ns(500)})
    profile = join(tmp_path)
    writer.close()
    assert profile.totals.gpu_busy_us == 30
    assert any(note.startswith("window 1 is open: the run goes on, or was killed") for note in profile.notes)


def test_killed_inside_a_later_window_without_a_gpu(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.events.clear()
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0", finished=1.0, signal=9).write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    capture.write_head(writer)
    capture.write_window(writer, tmp_path, 0)
    writer.write_json(Record.WINDOW_OPEN, {"window": 1, "t_ns": host_ns(500)})
    writer.write_lines(MAIN, array("q", [host_ns(500), 1, 2, host_ns(900), 0, 0]))
    writer.close()
    assert (join(tmp_path).totals.steps, join(tmp_path).totals.wall_us) == (1, 100)


def test_a_window_whose_trace_is_lost_does_not_count_beside_one_that_has_its_own(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0").write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    capture.write_head(writer)
    capture.write_window(writer, tmp_path, 0)
    capture.window, capture.steps, capture.lines = (500, 700), [500, 700], {MAIN: [(500, 2)]}
    capture.write_window(writer, tmp_path, 1)
    writer.close()
    (tmp_path / trace_name(0, 1, 1)).unlink()
    totals = join(tmp_path).totals
    assert (totals.steps, totals.wall_us, totals.gpu_busy_us, totals.gpu_idle_us) == (1, 100, 30, 70)


@pytest.mark.parametrize("content", [None, b"", b'{"traceEvents": [{"ph"', b"\x00" * 100])
def test_lost_trace_leaves_the_lines(content: bytes | None, capture: CaptureBuilder, tmp_path: Path) -> None:
    folder = capture.write(tmp_path / "capture")
    trace = folder / trace_name(0, 1, 0)
    if content is None:
        trace.unlink()
    else:
        trace.write_bytes(content)
    profile = join(folder)
    assert {cost.line: cost.cpu_us for cost in profile.lines} == {1: 60, 2: 40}
    assert any(note.startswith("the GPU records of window 0 are lost") for note in profile.notes)


def test_trace_without_clock_markers_is_not_guessed_at(capture: CaptureBuilder, tmp_path: Path) -> None:
    folder = capture.write(tmp_path / "capture")
    (folder / trace_name(0, 1, 0)).write_text(capture.trace.text())
    profile = join(folder)
    assert not profile.totals.on_gpu
    assert any("clock readings" in note for note in profile.notes)


def test_a_trace_name_cannot_lead_out_of_the_folder(capture: CaptureBuilder, tmp_path: Path) -> None:
    folder = capture.write(tmp_path / "capture")
    outside = tmp_path / "outside.json"
    (folder / trace_name(0, 1, 0)).rename(outside)
    raw = folder / raw_name(0, 1)
    raw.unlink()
    writer = RawWriter(raw)
    capture.write_head(writer)
    writer.write_json(Record.WINDOW_OPEN, {"window": 0, "t_ns": host_ns(0)})
    closed = {"window": 0, "t_ns": host_ns(100), "trace": "../outside.json", "markers": []}
    writer.write_json(Record.WINDOW_CLOSE, closed)
    writer.close()
    assert any("No such file" in note for note in join(folder).notes)


def test_the_lowest_rank_is_shown_and_the_others_are_named(capture: CaptureBuilder, tmp_path: Path) -> None:
    folder = capture.write(tmp_path / "capture")
    for rank, pid in ((10, 30), (2, 20)):
        writer = RawWriter(folder / raw_name(rank, pid))
        writer.write_json(Record.PROCESS, {"rank": rank, "pid": pid})
        writer.close()
    profile = join(folder)
    assert profile.totals.gpu_busy_us == 30
    assert "costs are those of rank0.1; also captured and not shown: rank2.20, rank10.30" in profile.notes


def test_a_process_with_a_window_is_preferred_to_one_without(capture: CaptureBuilder, tmp_path: Path) -> None:
    folder = capture.write(tmp_path / "capture")
    (folder / raw_name(0, 1)).rename(folder / raw_name(0, 5))
    RawWriter(folder / raw_name(0, 2)).close()
    assert join(folder).totals.gpu_busy_us == 30


def test_one_damaged_process_beside_a_good_one(capture: CaptureBuilder, tmp_path: Path) -> None:
    folder = capture.write(tmp_path / "capture")
    (folder / raw_name(1, 2)).write_bytes(b"garbage!")
    profile = join(folder)
    assert profile.totals.gpu_busy_us == 30
    assert any("rank1.2.wlraw was not written by Warplint" in note for note in profile.notes)


def test_nothing_readable(capture: CaptureBuilder, tmp_path: Path) -> None:
    folder = capture.write(tmp_path / "capture")
    (folder / raw_name(0, 1)).write_bytes(b"garbage!")
    with pytest.raises(LayoutError, match="not written by Warplint"):
        join(folder)
    (folder / raw_name(0, 1)).unlink()
    with pytest.raises(LayoutError, match="no captured process"):
        join(folder)


def test_no_capture(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="not a capture"):
        join(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(LayoutError, match="not written by Warplint"):
        join(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("root", 5),
        ("command", "x"),
        ("command", [1]),
        ("started", "now"),
        ("exit_code", "0"),
        ("imported", []),
    ],
)
def test_a_manifest_of_other_values(field: str, value: object, tmp_path: Path) -> None:
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0").write(tmp_path)
    manifest = tmp_path / "run.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), field: value}))
    with pytest.raises(LayoutError, match=f"run.json is damaged: its {field} cannot be "):
        join(tmp_path)


def test_a_process_that_captured_nothing(tmp_path: Path) -> None:
    RunManifest(["python"], ROOT, ROOT, 0.0, "0.1.0", notes=["the program made no step"]).write(tmp_path)
    writer = RawWriter(tmp_path / raw_name(0, 1))
    writer.write_json(Record.PROCESS, {"rank": 0})
    writer.write_json(Record.NOTE, {"level": "info", "code": "no-torch", "text": "torch was not imported"})
    writer.close()
    profile = join(tmp_path)
    assert profile.lines == []
    assert profile.totals.wall_us == 0
    assert profile.notes[:2] == ["the program made no step", "torch was not imported"]


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        ("/app/models/net.py", "/app", "models/net.py"),
        ("/application/train.py", "/app", "/application/train.py"),
        ("C:\\work\\models\\net.py", "C:\\work", "models/net.py"),
        ("D:\\other\\net.py", "C:\\work", "D:/other/net.py"),
    ],
)
def test_files_are_named_from_the_root(
    path: str, root: str, name: str, capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.path = path
    folder = capture.write(tmp_path / "capture")
    RunManifest(["python"], root, root, 0.0, "0.1.0").write(folder)
    profile = join(folder)
    assert set(profile.sources) == {name}
    assert {cost.file for cost in profile.lines} == {name}
