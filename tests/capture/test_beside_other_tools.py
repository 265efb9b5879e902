"""Programs that profile, trace or debug themselves get what they would have had without us."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from programs import ON_MONITORING, QUICKLY, TRAINING, Process, make_project, run, run_plainly

PYTHON = sys.executable

OWN_PROFILER = """
from torch.profiler import ProfilerActivity, profile, schedule
def count(prof):
    return sorted((event.key, event.count) for event in prof.key_averages() if event.key.startswith("aten::"))
"""


def same_as_without(tmp_path: Path, text: str, *options: str) -> None:
    root = make_project(tmp_path / "project", train=text)
    plainly, captured = run_plainly(root, PYTHON, "train.py"), run(root, *options, "--", PYTHON, "train.py")
    assert captured.returncode == plainly.returncode == 0, captured.stderr.decode()
    assert captured.stdout == plainly.stdout
    # Kineto says some things once a process, and we have heard them.
    assert set(without_times(captured.stderr)) <= set(without_times(plainly.stderr))


def without_times(stderr: bytes) -> list[bytes]:
    """Kineto's own lines begin with the time and process."""
    return [line.rpartition(b"] ")[2] for line in stderr.splitlines()]


def test_a_profiler_started_in_our_window_gets_all_its_records(tmp_path: Path) -> None:
    text = f"""{TRAINING}{OWN_PROFILER}
train(5)
with profile(activities=[ProfilerActivity.CPU]) as prof:
    train(3)
print(count(prof))
train(3)
"""
    same_as_without(tmp_path, text, "--after", "2", "--steps", "50")
    (raw,) = (tmp_path / "project" / ".warplint").iterdir()
    process = Process.read(next(raw.glob("*.wlraw")))
    assert process.closed[0]["reason"] == "the program started its own profiler"
    assert process.closed[0]["step"] == 5
    trace = json.loads((raw / process.closed[0]["trace"]).read_text())
    assert sum(event.get("name") == "aten::linear" for event in trace["traceEvents"]) == 3
    assert "profiler-started" in process.notes


def test_a_profiler_running_when_ours_would_start_is_left_alone(tmp_path: Path) -> None:
    text = f"""{TRAINING}{OWN_PROFILER}
with profile(activities=[ProfilerActivity.CPU]) as prof:
    train(8)
print(count(prof))
train(3)
"""
    same_as_without(tmp_path, text, *QUICKLY)
    (raw,) = (tmp_path / "project" / ".warplint").iterdir()
    process = Process.read(next(raw.glob("*.wlraw")))
    assert process.closed[0]["trace"] is None
    assert "profiler-busy" in process.notes
    assert len(process.lines_of("train")) >= 4


def test_a_scheduled_profiler_that_is_warming_up_is_left_alone(tmp_path: Path) -> None:
    text = f"""{TRAINING}{OWN_PROFILER}
plan = schedule(wait=1, warmup=3, active=3, repeat=1)
with profile(activities=[ProfilerActivity.CPU], schedule=plan) as prof:
    for step in range(10):
        train(1)
        prof.step()
print(count(prof))
"""
    same_as_without(tmp_path, text, *QUICKLY)


def test_cprofile_counts_the_same_calls(tmp_path: Path) -> None:
    text = f"""
import cProfile, pstats
{TRAINING}
with cProfile.Profile() as profiler:
    train(8)
stats = pstats.Stats(profiler).stats
print(sorted((name, calls[0]) for (file, line, name), calls in stats.items() if file == __file__))
"""
    same_as_without(tmp_path, text, *QUICKLY)


def test_a_tracing_debugger_sees_the_same_lines(tmp_path: Path) -> None:
    text = f"""
import sys
{TRAINING}
seen = []
def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        seen.append((event, frame.f_lineno))
        return trace
sys.settrace(trace)
train(8)
sys.settrace(None)
print(seen)
"""
    same_as_without(tmp_path, text, *QUICKLY)
    (raw,) = (tmp_path / "project" / ".warplint").iterdir()
    process = Process.read(next(raw.glob("*.wlraw")))
    if ON_MONITORING:
        assert len(process.lines_of("train")) >= 4
    else:
        assert process.process["timeline"] == "none"
        assert "debugger" in process.notes["no-timeline"]


def test_a_tool_that_holds_our_first_id_keeps_it(tmp_path: Path) -> None:
    text = f"""
import sys
monitoring = getattr(sys, "monitoring", None)
if monitoring:
    monitoring.use_tool_id(3, "theirs")
{TRAINING}
train(8)
print(monitoring and [monitoring.get_tool(tool) for tool in range(6)])
"""
    same_as_without(tmp_path, text, *QUICKLY)
    (raw,) = (tmp_path / "project" / ".warplint").iterdir()
    assert len(Process.read(next(raw.glob("*.wlraw"))).lines_of("train")) >= 4
