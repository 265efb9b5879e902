"""Importing real traces that others recorded: counts are those of the file, costs stand where they can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracefile import count

from warplint.__main__ import main
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.model import Profile

TRACES = Path(__file__).parents[1] / "data" / "traces"
ALL = sorted(path.relative_to(TRACES).as_posix() for path in TRACES.rglob("*") if ".json" in path.name)


def imported(name: str, root: Path) -> Profile:
    return import_traces(by_rank([TRACES / name]), root)


@pytest.mark.parametrize("name", ALL)
def test_totals_are_those_of_the_file(name: str, tmp_path: Path) -> None:
    totals, truth = imported(name, tmp_path).totals, count(TRACES / name)
    assert (totals.kernels, totals.copies, totals.copy_bytes, totals.steps) == (
        truth.kernels,
        truth.copies,
        truth.copy_bytes,
        truth.steps,
    )
    assert totals.kernel_us == pytest.approx(truth.kernel_us, abs=1e-3 * max(truth.kernels, 1))


@pytest.mark.parametrize("name", ALL)
def test_busy_and_idle_are_all_of_the_time(name: str, tmp_path: Path) -> None:
    profile = imported(name, tmp_path)
    totals = profile.totals
    if totals.on_gpu:
        assert totals.gpu_busy_us + totals.gpu_idle_us == pytest.approx(totals.wall_us)
        reached = sum(cost.busy_us + cost.total_idle_us for cost in profile.lines)
    else:
        reached = sum(cost.cpu_us for cost in profile.lines)
    assert reached + totals.unattributed_us == pytest.approx(totals.wall_us)


def test_functions_of_a_trace_with_stacks_have_their_first_lines(tmp_path: Path) -> None:
    profile = imported("tracelens/h100_stacks.json.gz", tmp_path)
    assert {cost.file for cost in profile.lines if cost.share > 0.05} == {
        "transformers/models/vit/modeling_vit.py"
    }
    assert any("first lines of functions" in note for note in profile.notes)
    assert not any(cost.file.startswith(("torch/", "threading", "<")) for cost in profile.lines)


def test_operators_stand_in_for_lines_without_stacks(tmp_path: Path) -> None:
    profile = imported("hta/event_sync.json.gz", tmp_path)
    assert {cost.line for cost in profile.lines} == {0}
    costs = {cost.file: cost for cost in profile.lines}
    assert costs["aten::is_nonzero"].copies == costs["aten::is_nonzero"].waits == 1
    assert costs["aten::ones"].launches == costs["aten::sum"].launches == costs["aten::gt"].launches == 1
    assert costs["ProfilerStep"].waits == 2


def test_kernels_stand_in_for_operators_where_only_the_gpu_was_recorded(tmp_path: Path) -> None:
    profile = imported("tracelens/mi210_gpu_only.json.gz", tmp_path)
    assert sum(cost.launches for cost in profile.lines) == 562
    assert "SubTensorOpWithScalar1d" in {cost.file for cost in profile.lines}
    assert any("ProfilerActivity.CPU" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("tracelens/mi300x_triton.json.gz", "AMD Instinct MI300X"),
        ("tracelens/amd_graph.json.gz", "AMD GPU"),
        ("hta/sampled_rank-0.json.gz", "unknown GPU"),
        ("hta/cpu_only.json.gz", "cpu"),
        ("hta/triton.json.gz", "NVIDIA A100-PG509-200"),
    ],
)
def test_the_device_is_named_as_far_as_the_trace_does(name: str, device: str, tmp_path: Path) -> None:
    assert imported(name, tmp_path).totals.device == device


def test_the_rank_is_said_where_the_trace_says_it(tmp_path: Path) -> None:
    assert "rank 34 of 300" in imported("hta/cpu_only.json.gz", tmp_path).notes[0]
    assert "rank" not in imported("hta/backward_thread.json", tmp_path).notes[0]


def test_waits_of_hip_count(tmp_path: Path) -> None:
    assert imported("tracelens/amd_graph.json.gz", tmp_path).totals.waits == 1


def test_several_files_are_ranks_of_which_the_lowest_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["hta/sampled_rank-1.json.gz", "hta/sampled_rank-0.json.gz"]
    assert main(["import", *(str(TRACES / name) for name in names)]) == 0
    assert main(["show", "--format", "json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out[out.index("\n{") :])["totals"]["kernels"] == count(TRACES / names[1]).kernels
    assert "also named and not shown: sampled_rank-1.json.gz (rank 1)" in " ".join(out.split())


def test_a_file_that_is_named_twice_is_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown, other = (TRACES / f"hta/sampled_rank-{rank}.json.gz" for rank in (0, 1))
    link = tmp_path / "link.json.gz"
    link.symlink_to(shown)
    assert main(["import", str(shown), str(link)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "sampled_rank-0.json.gz was named 2 times and is taken once" in out
    assert "not shown" not in out
    assert main(["import", str(other), str(shown), str(link), str(other), str(other)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "sampled_rank-0.json.gz was named 2 times" in out
    assert "sampled_rank-1.json.gz was named 3 times" in out
    assert "not shown: sampled_rank-1.json.gz (rank 1)" in out


def test_copies_of_a_place_that_is_no_line_are_shown_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events: list[dict[str, object]] = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "ProfilerStep#1",
            "pid": 1,
            "tid": 1,
            "ts": 0,
            "dur": 999,
        }
    ]
    for number in range(1, 6):
        at = 100 * number
        launch = {"name": "cudaMemcpyAsync", "args": {"correlation": number}}
        copy = {"name": "Memcpy DtoH (Device -> Pageable)", "args": {"correlation": number, "bytes": 4}}
        events += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::item", "pid": 1, "tid": 1, "ts": at, "dur": 50},
            {"ph": "X", "cat": "cuda_runtime", "pid": 1, "tid": 1, "ts": at + 5, "dur": 5, **launch},
            {"ph": "X", "cat": "gpu_memcpy", "pid": 0, "tid": 7, "ts": at + 20, "dur": 2, **copy},
        ]
    Path(tmp_path, "trace.json").write_text(json.dumps({"traceEvents": events}))
    monkeypatch.chdir(tmp_path)
    assert main(["import", "trace.json"]) == 0
    capsys.readouterr()
    assert main(["show", "--copies"]) == 0
    reads = capsys.readouterr().out.splitlines()[1].split("  ")
    assert [cell.strip() for cell in reads if cell][-1] == "aten::item"
