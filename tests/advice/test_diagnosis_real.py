"""Real captures are told apart: one of the example from an H200, and two of ResNet-50 from Kineto's samples.

The ResNet-50 traces are one step each (events unchanged, the third ``ProfilerStep``) of the two that came
with Kineto's TensorBoard plugin: the same program, its loader without workers and with four.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from diagnosing import diagnose

from warplint.__main__ import main
from warplint.advice.diagnosis.verdict import Diagnosis, Phase
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.join import join

TESTS = Path(__file__).parents[1]
TRACES = TESTS / "data" / "traces"
CAPTURES = TESTS / "profile" / "data"


def captured(name: str, folder: Path) -> Path:
    with tarfile.open(CAPTURES / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name


def imported(name: str, root: Path) -> Diagnosis:
    return diagnose(import_traces(by_rank([TRACES / name]), root))


def test_a_loader_without_workers_is_why_a_resnet_waits(tmp_path: Path) -> None:
    run = imported("kineto/resnet50_no_workers.json.gz", tmp_path).run
    assert (run.bottleneck.value, run.file, run.line) == ("data", "resnet50_profiler_api.py", 42)
    assert 0.2 < run.share < 0.3


def test_with_four_workers_it_does_not(tmp_path: Path) -> None:
    diagnosis = imported("kineto/resnet50_4_workers.json.gz", tmp_path)
    run, phases = diagnosis.run, dict(diagnosis.phases)
    assert phases[Phase.DATA].bottleneck.value == "none"
    # What is left is arithmetic: fp32 convolutions on a V100, most of them from the model's line.
    assert (run.bottleneck.value, run.line) == ("compute", 46)


def test_the_example_waits_for_the_line_that_decodes(tmp_path: Path) -> None:
    folder = captured("h200-unet3d", tmp_path)
    diagnosis = diagnose(join(folder))
    text = "raw = bytearray(zlib.decompress(self.paths[index].read_bytes()))"
    (line,) = [
        number
        for number, each in enumerate(join(folder).sources["train.py"].text.splitlines(), 1)
        if each.strip() == text
    ]
    run = diagnosis.run
    assert (run.bottleneck.value, run.file, run.line) == ("data", "train.py", line)
    assert 0.35 < run.share < 0.45
    # Its convolutions are in TF32: nothing else is to blame.
    others = [verdict.bottleneck.value for phase, verdict in diagnosis.phases if phase is not Phase.DATA]
    assert others == ["none", "none", "none"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        # The first step compiles a Triton kernel for 13 s, on no line that the trace names.
        ("hta/triton.json.gz", "the trace names no line there"),
        # CUDA begins at the first `aten::to`: 34 of 43 s before one launch.
        ("hta/alexnet.json.gz", "as a program's start does"),
        ("hta/event_sync.json.gz", "The GPU idles 98%"),
    ],
)
def test_the_start_of_a_program_gets_no_advice(name: str, said: str, tmp_path: Path) -> None:
    diagnosis = imported(name, tmp_path)
    assert diagnosis.run.bottleneck.value == "none"
    assert said in diagnosis.run.sentence
    assert "Nothing stands out" not in diagnosis.run.sentence
    assert {verdict.bottleneck.value for _, verdict in diagnosis.phases} <= {"none"}


@pytest.mark.parametrize("name", sorted(path.name for path in TRACES.rglob("*.json.gz")))
def test_shares_are_parts_of_the_step(name: str, tmp_path: Path) -> None:
    (path,) = TRACES.rglob(name)
    diagnosis = imported(str(path.relative_to(TRACES)), tmp_path)
    for verdict in (diagnosis.run, *(verdict for _, verdict in diagnosis.phases)):
        assert 0 <= verdict.share <= 1.001, verdict
        assert (verdict.share > 0) == bool(verdict.file) == (verdict.bottleneck.value != "none")
    assert sum(verdict.share for _, verdict in diagnosis.phases) <= 1.001
    figures = {figure.name: figure.value for figure in diagnosis.run.evidence}
    waits = ("data", "sync", "launch", "bandwidth", "allocator", "communication")
    # Waits do not overlap, and slow work is work: each a part of the time in which the GPU ran something.
    assert sum(float(figures.get(f"{each}_share", 0.0)) for each in waits) <= 1.001
    for each in ("compute", "traffic", "contention"):
        assert float(figures.get(f"{each}_share", 0.0)) <= float(figures.get("gpu_busy_share", 0.0)) + 0.001


def test_the_command_says_so_in_words_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = captured("h200-unet3d", tmp_path)
    assert main(["diagnose", str(folder)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The step waits 24.1 of its 59.3 ms (41%) for data; 84%" in text
    assert main(["diagnose", str(folder), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    keys = {"class", "cause", "sentence", "share", "file", "line", "evidence"}
    assert set(document) == keys | {"phases"}
    assert [phase["phase"] for phase in document["phases"]] == ["data", "forward", "backward", "optimizer"]
    assert all(set(phase) == keys | {"phase"} for phase in document["phases"])
    assert document["class"] == "data" and "waits 24.1 of its 59.3 ms" in document["sentence"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("how", ["cut", "missing"])
def test_lost_records_are_said_to_be_lost(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # As a killed program leaves them: the trace of the window half written, or not at all.
    folder = captured("h200-unet3d", tmp_path)
    (trace,) = folder.glob("*.trace.json")
    trace.unlink() if how == "missing" else cut(trace)
    assert main(["diagnose", str(folder), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["class"], document["phases"]) == ("none", [])
    assert document["sentence"].startswith("Nothing can be said of the step: ")
    assert "GPU records" in document["sentence"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("nothing", "no run.json"),
        ("another program's", "not written by Warplint"),
        ("half a file", "cannot be read"),
        ("no process", "no captured process"),
        ("a trace", "`warplint import`"),
    ],
)
def test_what_is_no_capture_is_refused(
    made: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = captured("h200-unet3d", tmp_path) if made == "no process" else tmp_path
    if made == "another program's":
        (folder / "run.json").write_text('{"hello": 1}')
    elif made == "half a file":
        (folder / "run.json").write_text("{")
    elif made == "no process":
        for path in folder.glob("rank*"):
            path.unlink()
    elif made == "a trace":
        folder = TRACES / "kineto" / "resnet50_no_workers.json.gz"
    assert main(["diagnose", str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("warplint: error: ") and said in error
