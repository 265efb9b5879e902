"""``warplint show`` as a user runs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from building import MAIN, CaptureBuilder

from warplint.capture.layout import Record
from warplint.profile.sections.table import SECTIONS

SOURCE = '''\
import torch


def forward(x):
    """Nothing to see."""
    first = x.cuda()
    second = first * 2
    return second


def unused():
    a = 1
    b = 2
    c = 3
    d = 4
    return a + b + c + d


for step in range(2):
    forward(torch.ones(3))
'''
OTHER = "value = 1\n"
DOCUMENT = Path(__file__).parents[2] / "docs" / "show-json.md"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one capture: line 6 copies, line 7 launches, line 20 waits for the loader."""
    builder = CaptureBuilder(SOURCE, steps=[0, 10_000, 20_000], window=(0, 20_000))
    builder.trace.header["deviceProperties"] = [{"id": 0, "name": "NVIDIA H200"}]
    builder.lines = {MAIN: []}
    for start in (0, 10_000):
        builder.lines[MAIN] += [(start, 20), (start + 6_000, 6), (start + 7_000, 7), (start + 9_900, 20)]
        builder.trace.annotation("enumerate(DataLoader)#Iter.__next__", start, start + 6_000)
        builder.trace.call("cudaMemcpyAsync", start + 6_100, start + 6_200, start + 1)
        builder.trace.work(
            "Memcpy HtoD (Pageable -> Device)", start + 6_200, start + 6_900, start + 1, size=4096
        )
        builder.trace.op("aten::mul", start + 7_050, start + 7_150)
        builder.trace.kernel(start + 7_100, start + 7_200, start + 9_700, start + 2)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(SOURCE)
    builder.write(tmp_path / ".warplint" / "20260101T000000Z-train")
    return tmp_path


def show(folder: Path, *arguments: str, status: int = 0, environment: dict[str, str] | None = None) -> str:
    """Standard output of ``warplint show`` in ``folder``; standard error where it fails."""
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "warplint", "show", *arguments],
        cwd=folder,
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if status else done.stdout


def test_summary_says_what_the_steps_spent_their_time_on(project: Path) -> None:
    first = show(project, environment={"COLUMNS": "200"}).splitlines()[0]
    assert first == (
        "2 steps of 10.0 ms on NVIDIA H200: GPU busy 32%, "
        "idle 68% (data 60%, host 6.0%, copy 1.0%, launch 1.0%); "
        "1 kernel, 1 copy and 0 waits a step; 0.0% unattributed"
    )


def test_the_second_sentence_says_which_line_the_steps_wait_for_data_on(project: Path) -> None:
    second = show(project, environment={"COLUMNS": "200"}).splitlines()[1]
    assert second == "a step waits 6.00 ms for data; 100% of that is train.py:20 `forward(torch.ones(3))`"


def test_lines_stand_beside_their_figures(project: Path) -> None:
    lines = show(project).split("\n\n", 1)[1].splitlines()
    header = next(line for line in lines if line.lstrip().startswith("time"))
    assert header.split() == [
        *("time", "GPU", "ms", "fwd", "launches", "copies", "idle", "ms", "cause", "line", "source"),
    ]
    kernel = next(line for line in lines if "second = first * 2" in line)
    assert kernel.split()[:7] == ["29%", "2.50", "2.50", "1", "0.40", "host", "7"]
    copy = next(line for line in lines if "first = x.cuda()" in line)
    assert copy.split()[:7] == ["10%", "0.70", "0.70", "1", "0.30", "host", "6"]
    loop = next(line for line in lines if "forward(torch.ones(3))" in line)
    assert loop.split()[:4] == ["61%", "6.10", "data", "20"]


def test_what_did_not_run_is_folded_and_its_function_named_where_something_did(project: Path) -> None:
    text = show(project)
    assert "def forward(x):" in text
    assert "def unused" not in text
    assert "c = 3" not in text
    assert re.search(r"… \d+ lines", text)


def test_top_lists_the_hottest_lines_first(project: Path) -> None:
    lines = show(project, "--top", "2").split("\n\n", 1)[1].splitlines()
    found = [line for line in lines if "train.py:" in line]
    assert [re.search(r"train\.py:(\d+)", line)[1] for line in found] == ["20", "7"]  # type: ignore[index]


def documented_keys(heading: str) -> list[str]:
    section = DOCUMENT.read_text(encoding="utf-8").split(f"\n## `{heading}`\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_json_has_exactly_the_documented_keys(project: Path) -> None:
    document = json.loads(show(project, "--format", "json"))
    assert list(document) == ["totals", "lines", *SECTIONS]
    for section, record in SECTIONS.items():
        assert sorted(each.name for each in fields(record)) == sorted(documented_keys(section))
    assert sorted(document["totals"]) == sorted(documented_keys("totals"))
    assert len(document["lines"]) == 3
    for line in document["lines"]:
        assert sorted(line) == sorted(documented_keys("lines"))


def test_json_figures(project: Path) -> None:
    document = json.loads(show(project, "--format", "json"))
    totals = document["totals"]
    assert totals == {
        "wall_us": 20000,
        "gpu_busy_us": 6400,
        "gpu_idle_us": 13600,
        "capture_us": 0,
        "unattributed_us": 0,
        "kernel_us": 5000,
        "kernels": 2,
        "copies": 2,
        "copy_bytes": 8192,
        "waits": 0,
        "wait_us": 0,
        "launches": 2,
        # 6 ms in __next__ and 0.1 ms in a copy, each twice; no kernel runs beside the copies.
        "felt_us": 12200,
        "felt_data_us": 12000,
        "exposed_copy_us": 1400,
        "steps": 2,
        "device": "NVIDIA H200",
        "driver": "",
        "torch": "2.13.0",
    }
    assert document["lines"][2] == {
        "file": "train.py",
        "line": 6,
        "busy_us": 1400,
        "gpu_forward_us": 1400,
        "gpu_backward_us": 0,
        "gpu_optimizer_us": 0,
        "gpu_recompute_us": 0,
        "launches": 0,
        "copies": 2,
        "copy_bytes": 8192,
        "waits": 0,
        "wait_us": 0,
        "idle_us": {"copy": 200, "host": 400},
        "cpu_us": 2000,
        "share": 0.1,
        "fused_us": 0,
        "felt_us": 200,
        "felt_sync_us": 0,
        "felt_copy_us": 200,
        "felt_queue_us": 0,
        "felt_alloc_us": 0,
        "felt_data_us": 0,
        "exposed_copy_us": 1400,
        "worker_us": 0,
        "worker_waiting_us": 0,
        "kernels": [{"name": "Memcpy HtoD (Pageable -> Device)", "us": 1400, "count": 2}],
    }


def test_json_of_one_file_and_of_the_hottest_lines(project: Path) -> None:
    assert len(json.loads(show(project, "train.py", "--format", "json"))["lines"]) == 3
    top = json.loads(show(project, "--top", "1", "--format", "json"))["lines"]
    assert [line["line"] for line in top] == [20]


def test_piped_output_is_plain_and_as_wide_as_asked(project: Path) -> None:
    for columns in ("60", "200"):
        text = show(project, environment={"COLUMNS": columns, "FORCE_COLOR": ""})
        assert "\x1b" not in text
        assert max(len(line) for line in text.splitlines()) <= int(columns)


def test_a_capture_opens_without_its_project(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    capture = (project / ".warplint" / "20260101T000000Z-train").rename(elsewhere / "copied")
    assert "second = first * 2" in show(elsewhere, "--capture", str(capture))
    assert "second = first * 2" in show(elsewhere, "train.py", "--capture", str(capture))


def test_edited_file_is_shown_as_it_ran_and_said_to_have_changed(project: Path) -> None:
    (project / "train.py").write_text("# rewritten\n")
    text = show(project)
    assert "second = first * 2" in text
    assert "train.py has changed since; shown is the text that ran" in text


def test_a_finding_of_the_rules_stands_at_its_line(project: Path) -> None:
    (project / "pyproject.toml").write_text("")
    text = show(project)
    assert "WL001" not in text
    # Its copy is pageable and costs 1 ms of each step of 10, whatever rules know of it.
    assert "WL052" in text
    broken = CaptureBuilder(SOURCE.replace("second = first * 2", "second = first *"), steps=[0, 100])
    broken.lines = {MAIN: [(0, 6)]}
    broken.write(project / ".warplint" / "20270101T000000Z-broken")
    lines = show(project).splitlines()
    marked = next(index for index, line in enumerate(lines) if "WL001" in line)
    assert "second = first *" in lines[marked]
    assert "└" in lines[marked + 1]


def test_no_capture_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    assert "warplint run" in show(tmp_path, status=2)


def test_damaged_and_foreign_captures_are_refused_in_words(project: Path, tmp_path: Path) -> None:
    folder = project / ".warplint" / "20260101T000000Z-train"
    (folder / "rank0.1.wlraw").write_bytes(b"garbage garbage")
    assert "rank0.1.wlraw was not written by Warplint" in show(project, status=2)
    (folder / "run.json").write_text("{")
    assert "run.json cannot be read" in show(project, status=2)
    assert "is not a capture" in show(tmp_path, "--capture", str(tmp_path), status=2)
    assert "no such folder" in show(tmp_path, "--capture", str(tmp_path / "absent"), status=2)


def test_file_without_costs_names_those_that_have_some(project: Path) -> None:
    (project / "other.py").write_text(OTHER)
    message = show(project, "other.py", status=2)
    assert "other.py" in message
    assert "train.py" in message


def test_file_is_found_from_a_folder_beside_it(project: Path) -> None:
    (project / "scripts").mkdir()
    assert "second = first * 2" in show(project / "scripts", "../train.py")


def test_file_that_ran_before_the_captured_steps_alone_is_said_to(tmp_path: Path) -> None:
    builder = CaptureBuilder(SOURCE, steps=[500, 1000])
    builder.lines = {MAIN: [(0, 6), (400, 0)]}
    folder = builder.write(tmp_path / "capture")
    for arguments in ((), ("--top", "3")):
        text = show(tmp_path, "train.py", "--capture", str(folder), *arguments)
        assert "train.py ran no line in the captured steps" in text
        assert "source" not in text
    document = json.loads(show(tmp_path, "train.py", "--capture", str(folder), "--format", "json"))
    assert document["lines"] == []


@pytest.mark.parametrize("top", ["0", "-1", "x"])
def test_top_wants_a_number(top: str, project: Path) -> None:
    assert "is not a number of lines" in show(project, f"--top={top}", status=2)


def test_escape_codes_in_a_source_do_not_reach_the_terminal(tmp_path: Path) -> None:
    builder = CaptureBuilder("x = '\x1b[31m'\ny = 2\n", steps=[0, 100], window=(0, 100))
    builder.lines = {MAIN: [(0, 1)]}
    folder = builder.write(tmp_path / "capture")
    for arguments in ((), ("--top", "3")):
        assert "\x1b" not in show(tmp_path, "--capture", str(folder), *arguments)


def test_what_torch_compile_did_is_said(tmp_path: Path) -> None:
    """Three quarters of the GPU's time is fused: 30 of 40 us."""
    again = {"file": "/app/train.py", "line": 1, "reason": "tensor 'x' size mismatch", "count": 2}
    broken = {"file": "/app/train.py", "line": 2, "reason": "print" * 40, "count": 1}
    builder = CaptureBuilder("x = a\ny = b\nz = model(x)\n", steps=[0, 100], window=(0, 100))
    builder.lines = {MAIN: [(0, 3)]}
    builder.trace.op("## Call CompiledFxGraph fkey ##", 5, 40)
    builder.trace.kernel(10, 20, 50, 1, "triton_poi_fused_add_0")
    builder.trace.kernel(45, 60, 70, 2, "eager")
    builder.compiled = [
        (Record.COMPILED_GRAPH, {"graph": "fkey", "kernels": [["triton_poi_fused_add_0", [[1, 1], [1, 2]]]]}),
        (Record.COMPILATION, {"graph_breaks": [broken], "recompilations": [again], "dropped": 0}),
    ]
    lines = show(tmp_path, "--capture", str(builder.write(tmp_path / "capture"))).splitlines()
    text = " ".join(" ".join(lines).split())
    assert "75% of the GPU time is in kernels that torch.compile fused from several lines" in text
    assert "torch.compile broke off at 1 line: train.py:2 (" + "print" * 17 in text
    assert "print" * 18 not in text
    assert "torch.compile compiled again 2 times: train.py:1 (tensor 'x' size mismatch)" in text


def test_a_file_in_a_captures_place_is_said_alike_by_all(project: Path) -> None:
    trace = project / "trace.json"
    trace.write_text("{}", encoding="utf-8")
    for command in (
        ["show", "--capture", "trace.json"],
        ["diagnose", "trace.json"],
        *(["export", "trace.json", "--format", kind] for kind in ("perfetto", "cpuprofile", "json")),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "warplint", *command],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "warplint: error: trace.json is a file, and a capture is a folder; "
            "`warplint import` makes one of a trace\n"
        )
