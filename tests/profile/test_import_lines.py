"""Where the costs of an imported trace stand: lines, as far as the trace tells them."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from warplint.__main__ import main
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.model import IdleCause, LineCost, Profile

TRACES = Path(__file__).parents[1] / "data" / "traces"
SITE = "/opt/conda/lib/python3.7/site-packages/torch"


def old_event(category: str, name: str, thread: str, start: int, length: int, **args: Any) -> dict[str, Any]:
    event = {"ph": "X", "cat": category, "name": name, "pid": 7, "tid": thread, "ts": 1000 + start}
    return {**event, "dur": length, "args": args}


def trace_of_1_8() -> list[dict[str, Any]]:
    """Two steps of 100 us as torch 1.8 wrote them. Line 4 loads for 30, 5 launches for 40 on the GPU, and its
    backward node on the autograd thread for 20; line 6 waits."""
    events = []
    for number, begin in enumerate((0, 100)):
        stack = "{file}({line}): {function};train.py({caller}): <module>"
        loading = stack.format(file=f"{SITE}/utils/data.py", line=9, function="__next__", caller=4)
        forward = stack.format(file=f"{SITE}/nn/conv.py", line=440, function="forward", caller=5)
        waiting = "train.py(6): <module>"
        sequence = {"Sequence number": 50 + number}
        launch = 2 * number + 10
        events += [
            old_event("Operator", f"ProfilerStep#{number}", "7", begin, 100),
            old_event("Operator", "enumerate(DataLoader)#_Single.__next__", "7", begin, 30),
            old_event("Operator", "aten::empty", "7", begin, 5, **{"Call stack": loading}),
            old_event(
                "Operator",
                "aten::conv2d",
                "7",
                begin + 30,
                10,
                **{"Call stack": forward, "Fwd thread id": 0},
                **sequence,
            ),
            old_event("Runtime", "cudaLaunchKernel", "7", begin + 32, 3, correlation=launch),
            old_event("Operator", "ConvBackward", "8", begin + 42, 10, **{"Fwd thread id": 1}, **sequence),
            old_event("Runtime", "cudaLaunchKernel", "8", begin + 44, 3, correlation=launch + 1),
            old_event("Operator", "aten::item", "7", begin + 54, 45, **{"Call stack": waiting}),
            old_event("Runtime", "cudaStreamSynchronize", "7", begin + 55, 43, correlation=launch + 100),
            old_event("Kernel", "conv", "stream 7", begin + 35, 40, device=0, stream=7, correlation=launch),
            old_event(
                "Kernel", "conv_back", "stream 7", begin + 75, 20, device=0, stream=7, correlation=launch + 1
            ),
        ]
    return events


def imported(trace: Path, root: Path) -> Profile:
    return import_traces(by_rank([trace]), root)


def by_place(profile: Profile) -> dict[str, LineCost]:
    return {cost.place: cost for cost in profile.lines}


def test_the_stacks_of_torch_1_8_give_lines(tmp_path: Path) -> None:
    trace = tmp_path / "old.json"
    trace.write_text(json.dumps({"traceEvents": trace_of_1_8()}), encoding="utf-8")
    profile = imported(trace, tmp_path)
    totals, costs = profile.totals, by_place(profile)
    assert (totals.steps, totals.wall_us, totals.gpu_busy_us, totals.kernels) == (2, 200, 120, 4)
    assert costs["train.py:5"].gpu_forward_us == 80
    assert costs["train.py:5"].gpu_backward_us == 40
    assert costs["train.py:5"].launches == 4
    assert costs["train.py:6"].waits == 2
    assert costs["train.py:6"].wait_us == 86
    assert costs["train.py:4"].idle_us[IdleCause.DATA] == 60
    assert set(costs) <= {"train.py:4", "train.py:5", "train.py:6"}


def test_the_project_s_text_is_taken_unless_it_cannot_have_run(tmp_path: Path) -> None:
    trace = tmp_path / "old.json"
    trace.write_text(json.dumps({"traceEvents": trace_of_1_8()}), encoding="utf-8")
    (tmp_path / "train.py").write_text("import torch\n" + "x = 1\n" * 9, encoding="utf-8")
    assert set(imported(trace, tmp_path).sources) == {"train.py"}
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    profile = imported(trace, tmp_path)
    assert profile.sources == {}
    assert any("not the text that ran" in note and "train.py" in note for note in profile.notes)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A project with the program that recorded `callers.json.gz`."""
    for name in ("callers.py", "callers.json.gz"):
        shutil.copy(TRACES / "warplint" / name, tmp_path)
    return tmp_path


def lines_with(recorded: Path, text: str) -> list[int]:
    program = (recorded / "callers.py").read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(program, 1) if text in line]


def test_the_callers_of_torch_2_14_give_lines(recorded: Path) -> None:
    profile = imported(recorded / "callers.json.gz", recorded)
    costs = {cost.line: cost for cost in profile.lines}
    assert {cost.file for cost in profile.lines} == set(profile.sources) == {"callers.py"}
    events = json.loads(gzip.decompress((recorded / "callers.json.gz").read_bytes()))["traceEvents"]

    def spent_in(function: str) -> float:
        """In calls of torch's that the program makes itself."""
        return sum(
            event["dur"]
            for event in events
            if event.get("cat") == "python_function" and event["name"].endswith(f": {function}")
            if event["args"]["CallFrom"].startswith("callers.py:")
        )

    # The whole of such a call is on its line, with the little that comes before the next.
    for text, function in (("loss.backward()", "backward"), ("optimizer.step()", "wrapper")):
        [line] = lines_with(recorded, text)
        assert spent_in(function) <= costs[line].cpu_us <= spent_in(function) * 1.1 + 100
    [relu], [tanh] = lines_with(recorded, "torch.relu"), lines_with(recorded, "torch.tanh")
    assert costs[relu].cpu_us > costs[tanh].cpu_us > 0
    # A generator's frames name the line it stands on, which is no reason to doubt the text.
    assert lines_with(recorded, "yield ")[0] in costs


def test_another_text_of_that_name_is_not_shown(recorded: Path) -> None:
    program = recorded / "callers.py"
    program.write_text("\n" * 9 + program.read_text(encoding="utf-8"), encoding="utf-8")
    profile = imported(recorded / "callers.json.gz", recorded)
    assert profile.sources == {}
    assert any("not the text that ran" in note for note in profile.notes)


def test_what_stands_on_names_is_shown_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events = trace_of_1_8()
    for event in events:
        event["args"].pop("Call stack", None)
    trace = tmp_path / "old.json"
    trace.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["import", "old.json"]) == 0
    assert main(["show"]) == 0
    assert main(["show", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "enumerate(DataLoader)#_Single.__next__" in out
    assert ":0" not in out
    costs = by_place(imported(trace, tmp_path))
    assert costs["aten::conv2d"].gpu_us == 120
    assert costs["enumerate(DataLoader)#_Single.__next__"].idle_us[IdleCause.DATA] == 60


def test_work_without_a_correlation_goes_to_its_operator(tmp_path: Path) -> None:
    def event(category: str, name: str, start: int, length: int, **args: Any) -> dict[str, Any]:
        return {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": 0,
            "tid": 3,
            "ts": start,
            "dur": length,
            "args": args,
        }

    events = [
        event("cpu_op", "aten::mm", 0, 10, **{"External id": 4}),
        event("cpu_op", "aten::add", 10, 10, **{"External id": 5}),
        event("kernel", "gemm", 5, 20, **{"External id": 4}),
        event("kernel", "lost", 25, 5),
    ]
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    profile = imported(trace, tmp_path)
    costs = by_place(profile)
    assert (costs["aten::mm"].gpu_us, costs["aten::mm"].launches) == (20, 1)
    assert profile.totals.kernels == 2
    assert any("1 kernels or copies name no launch" in note for note in profile.notes)
    assert any("1 kernels or copies have no launch" in note for note in profile.notes)
