"""Programs that train, under ``warplint run``: what is captured of them, and that they notice nothing."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from programs import (
    OF_TORCH,
    ON_MONITORING,
    QUICKLY,
    TRAINING,
    Process,
    finish,
    make_project,
    run,
    says_warplint,
    start,
)
from terminals import run_at_terminal

PYTHON = sys.executable

LOOKS_AROUND = """
import atexit, os, sys, threading
environment = dict(os.environ)
def look():
    import torch
    from torch.optim import optimizer
    tools = [sys.monitoring.get_tool(tool) for tool in range(6)] if hasattr(sys, "monitoring") else []
    print("tools", [tool for tool in tools if tool])
    print("trace", sys.gettrace(), threading.gettrace(), sys.getprofile())
    print("threads", threading.active_count())
    print("profiling", torch.autograd._profiler_enabled())
    print("path", sys.path)
    print("environment", sorted(os.environ.items()))
    print("argv", sys.argv)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Process, Path]:
    text = LOOKS_AROUND + TRAINING + OF_TORCH + "train(8)\nlook()\nos.chdir('/')\ndel sys.argv\ntrain(2)\n"
    root = make_project(tmp_path_factory.mktemp("whole") / "project", train=text)
    done = run(root, *QUICKLY, "train.py", "--flag")
    assert (done.returncode, done.stderr) == (0, b"")
    (root / "stdout").write_bytes(done.stdout)
    return done.process, root


def test_a_window_holds_the_steps_asked_for_and_a_lead_in(whole: tuple[Process, Path]) -> None:
    process, _ = whole
    assert [(window["step"], window["step_kind"]) for window in process.opened] == [(2, "optimizer")]
    assert [(window["step"], window["trace"]) for window in process.closed] == [
        (5, f"rank0.{process.process['pid']}.w1.trace.json")
    ]
    assert process.ended


def test_every_step_of_the_run_is_timed(whole: tuple[Process, Path]) -> None:
    assert whole[0].steps == list(range(1, 11))


def test_the_process_describes_itself(whole: tuple[Process, Path]) -> None:
    import torch

    described = whole[0].process
    assert described["torch"] == str(torch.__version__)
    assert described["timeline"] == ("monitoring" if ON_MONITORING else "settrace")
    assert (described["rank"], described["world"]) == (0, 1)
    assert described["root"] == described["cwd"] == str(whole[1])
    assert described["argv"] == [PYTHON, "train.py", "--flag"]
    assert described["main_thread"] == whole[0].closed[0]["main_thread"] == described["pid"]


def test_the_trace_holds_a_marker_between_each_pair_of_stamps(whole: tuple[Process, Path]) -> None:
    process, _ = whole
    closed = process.closed[0]
    trace = json.loads((process.path.parent / closed["trace"]).read_text())
    names = {event.get("name") for event in trace["traceEvents"]}
    assert len(closed["markers"]) == len(closed["clock"]) >= 8
    assert {f"warplint.sync#{index}" for index, _, _ in closed["markers"]} <= names
    assert all(before <= after for _, before, after in closed["markers"])


def test_a_marker_lies_between_its_stamps_by_the_clock_readings(whole: tuple[Process, Path]) -> None:
    process, _ = whole
    closed = process.closed[0]
    trace = json.loads((process.path.parent / closed["trace"]).read_text())
    base = trace["baseTimeNanoseconds"]
    at = {event["name"]: event["ts"] * 1000 + base for event in trace["traceEvents"] if "ts" in event}
    ((first, unix, second), *_) = closed["clock"]
    offset_ns = unix - (first + second) // 2
    slack_ns = 100_000
    for index, before, after in closed["markers"]:
        stamp = at[f"warplint.sync#{index}"] - offset_ns
        assert before - slack_ns <= stamp <= after + slack_ns


def test_the_price_is_recorded(whole: tuple[Process, Path]) -> None:
    price = whole[0].closed[0]["price"]
    assert set(price) == {"start_s", "inside_s", "stop_s", "write_s"}
    assert all(seconds > 0 for seconds in price.values())
    elapsed = (whole[0].closed[0]["t_ns"] - whole[0].opened[0]["t_ns"]) / 1e9
    assert price["inside_s"] == pytest.approx(elapsed)


def test_nothing_of_us_is_left_after_the_window(whole: tuple[Process, Path]) -> None:
    root = whole[1]
    found = dict(line.split(" ", 1) for line in (root / "stdout").read_text().splitlines())
    assert found["tools"] == "[]"
    assert found["trace"] == "None None None"
    assert found["threads"] == "1"
    assert found["profiling"] == "False"
    assert str(Path("capture", "bootstrap")) not in found["path"]
    assert "WARPLINT" not in found["environment"] and "PYTHONPATH" not in found["environment"]
    assert found["argv"] == "['train.py', '--flag']"


def test_the_lines_of_the_loop_were_followed(whole: tuple[Process, Path]) -> None:
    text = (whole[1] / "train.py").read_text().splitlines()
    expected = {
        number
        for number, line in enumerate(text, start=1)
        if line.strip().startswith(("for step", "loss", "optimizer.zero", "optimizer.step"))
    }
    assert expected <= whole[0].lines_of("train")


@pytest.mark.parametrize(
    ("ending", "returncode"),
    [("sys.exit(3)", 3), ("raise KeyError('no')", 1)],
)
def test_a_window_is_finished_when_the_program_ends_inside_it(
    tmp_path: Path, ending: str, returncode: int
) -> None:
    root = make_project(tmp_path / "project", train=f"import sys\n{TRAINING}train(5)\n{ending}\n")
    done = run(root, "--after", "2", "--steps", "50", "train.py")
    assert done.returncode == returncode
    assert not says_warplint(root, done.stderr)
    process = done.process
    assert process.ended
    assert (process.closed[0]["step"], process.closed[0]["reason"]) == (5, "the program ended")
    assert (done.folder / process.closed[0]["trace"]).is_file()


WITH_COMPANY = f"""
import os, sys, threading, time
{TRAINING}
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        return torch.full((8,), float(index))

def compute():
    while True:
        torch.ones(8).sum()
        time.sleep(0.01)

threading.Thread(target=compute, daemon=True).start()
loader = torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2, persistent_workers=True)
for step, batch in enumerate(loader):
    model(batch).sum().backward()
    optimizer.step()
    if step == 40:
        print(time.time(), flush=True)
        ENDING
"""


@pytest.mark.parametrize(
    ("ending", "returncode"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 15)", -signal.SIGTERM)]
)
def test_workers_and_threads_keep_no_program_from_ending_inside_its_window(
    tmp_path: Path, ending: str, returncode: int
) -> None:
    root = make_project(tmp_path / "project", train=WITH_COMPANY.replace("ENDING", ending))
    done = run(root, "--after", "2", "--steps", "1000", "train.py")
    ended = time.time()
    assert done.returncode == returncode and not says_warplint(root, done.stderr)
    assert ended - float(done.stdout) < 30
    process = done.process
    assert process.ended == (returncode > 0)
    assert [window["step"] for window in process.closed] == [41] * process.ended
    assert len(process.opened) == 1


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), 9)", "os._exit(5)"])
def test_lines_survive_a_program_that_dies_inside_a_window(tmp_path: Path, ending: str) -> None:
    text = f"import os, time\n{TRAINING}train(5)\ntime.sleep(0.5)\n{ending}\n"
    root = make_project(tmp_path / "project", train=text)
    done, shown = run_at_terminal(root, "--after", "2", "--steps", "50", "train.py")
    assert done.returncode == (-signal.SIGKILL if "kill" in ending else 5)
    process = done.process
    assert (len(process.opened), process.closed, process.ended) == (1, [], False)
    assert len(process.lines_of("train")) >= 4
    assert "ended inside window 1: its lines were kept" in shown
    assert "see it with: warplint show" in shown


def test_a_finished_window_survives_a_kill(tmp_path: Path) -> None:
    text = f"import os\n{TRAINING}train(8)\nos.kill(os.getpid(), 9)\n"
    root = make_project(tmp_path / "project", train=text)
    done, shown = run_at_terminal(root, *QUICKLY, "train.py")
    assert done.returncode == -signal.SIGKILL
    assert (done.folder / done.process.closed[0]["trace"]).is_file()
    assert "captured steps 4 to 5" in shown and "without closing its capture" in shown


def test_a_signal_handler_that_raises_in_the_window_reaches_the_program(tmp_path: Path) -> None:
    text = f"""
import os, signal, threading
{TRAINING}
class Stop(Exception): pass
def stop(number, frame): raise Stop
signal.signal(signal.SIGTERM, stop)
train(3)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
try:
    while True:
        train(1)
except Stop:
    print("stopped")
train(3)
"""
    root = make_project(tmp_path / "project", train=text)
    done = run(root, "--after", "2", "--steps", "100000", "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"stopped\n", b"")
    assert done.process.ended


def test_a_signal_handler_that_raises_in_our_code_leaves_the_capture_as_it_is(tmp_path: Path) -> None:
    text = f"""
import signal, sys
{TRAINING}
class Stop(Exception): pass
def stop(number, frame): raise Stop
signal.signal(signal.SIGTERM, stop)
def interrupt(name):
    def watch(frame, event, argument):
        if event == "call" and frame.f_code.co_name == name and "capture" in frame.f_code.co_filename:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGTERM)
    sys.setprofile(watch)
train(5)
for name in ("_count_step", "add", "step_ended", "mark"):
    interrupt(name)
    try:
        train(1)
    except Stop:
        print(name)
train(1)
"""
    root = make_project(tmp_path / "project", train=text)
    done = run(root, "--after", "2", "--steps", "1000000", "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"_count_step\nadd\nstep_ended\nmark\n", b"")
    assert "gave-up" not in done.process.notes
    assert done.process.closed[0]["reason"] == "the program ended"
    assert done.process.steps == [1, 2, 3, 4, 5, 6, 7, 8], "two were interrupted before they were counted"


def test_without_torch_the_user_is_told(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", plain="print('runs')")
    done, shown = run_at_terminal(root, "plain.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"runs\n", b"")
    assert done.captures == []
    assert "no process imported torch" in shown and "warplint show" not in shown


def test_without_a_step_the_user_is_told(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", plain="import torch; print(torch.ones(3).sum().item())")
    done, shown = run_at_terminal(root, "plain.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"3.0\n", b"")
    assert "no-steps" in done.process.notes and done.process.notes["no-steps"] in shown
    assert "warplint show" not in shown


def test_with_too_few_steps_the_user_is_told(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=f"{TRAINING}train(3)\n")
    done, shown = run_at_terminal(root, "train.py")
    assert "after 3 steps" in done.process.notes["no-window"]
    assert done.process.notes["no-window"] in shown


@pytest.mark.parametrize("flag", ["-I", "-E", "-S", "-sE"])
def test_flags_that_keep_us_out_are_said(tmp_path: Path, flag: str) -> None:
    root = make_project(tmp_path / "project", plain="print('runs')")
    done, shown = run_at_terminal(root, "--", PYTHON, flag, "plain.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"runs\n", b"")
    assert f"nothing will be captured: python was given -{flag[-1]}" in shown


def test_an_unwritable_folder_is_said_and_the_program_runs(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=f"{TRAINING}train(3)\nprint('runs')\n")
    (root / ".warplint").write_text("in the way", encoding="utf-8")
    done, shown = run_at_terminal(root, "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"runs\n", b"")
    assert "nothing will be captured" in shown
    assert (root / ".warplint").read_text() == "in the way"


def test_a_folder_that_vanishes_is_said_and_the_program_runs(tmp_path: Path) -> None:
    text = f"import shutil\nshutil.rmtree('.warplint')\n{TRAINING}train(3)\nprint('runs')\n"
    root = make_project(tmp_path / "project", train=text)
    done, shown = run_at_terminal(root, "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"runs\n", b"")
    assert "nothing is captured" in shown


def test_a_full_disk_is_said_and_the_program_runs(tmp_path: Path) -> None:
    text = f"""
import resource
{TRAINING}
train(4)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, -1))
train(8)
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
print("runs", torch.autograd._profiler_enabled())
"""
    root = make_project(tmp_path / "project", train=text)
    done, shown = run_at_terminal(root, "--after", "2", "--steps", "4", "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"runs False\n", b"")
    assert "the capture stops here" in shown and "File too large" in shown


def test_an_interrupt_inside_the_window_is_the_programs(tmp_path: Path) -> None:
    text = f"""
import time
{TRAINING}
train(5)
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""
    root = make_project(tmp_path / "project", train=text)
    process = start(root, "--after", "2", "--steps", "50", "train.py")
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, signal.SIGINT)
    done = finish(process, root)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"interrupted\n", b"")
    assert done.process.closed[0]["reason"] == "the program ended"


def test_an_interrupt_of_us_alone_ends_the_program_and_keeps_the_capture(tmp_path: Path) -> None:
    text = f"""
import time
{TRAINING}
train(5)
print("ready", flush=True)
# Where the interrupt comes in our code, its traceback shows that.
time.sleep(60)
"""
    root = make_project(tmp_path / "project", train=text)
    process = start(root, "--after", "2", "--steps", "1000000", "--seconds", "600", "train.py")
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    done = finish(process, root)
    assert done.returncode == -signal.SIGINT, "which a shell shows as 130"
    assert done.stderr.endswith(b"KeyboardInterrupt\n") and not says_warplint(root, done.stderr)
    assert done.process.closed[0]["reason"] == "the program ended"


def test_a_finished_window_is_announced_while_the_program_goes_on(tmp_path: Path) -> None:
    text = f"""
import glob, os
{TRAINING}
[manifest] = glob.glob(".warplint/*/run.json")
before = os.stat(manifest).st_mtime_ns
train(4)
print(os.stat(manifest).st_mtime_ns > before)
train(4)
print(os.stat(manifest).st_mtime_ns > before)
"""
    root = make_project(tmp_path / "project", train=text)
    assert run(root, *QUICKLY, "train.py").stdout == b"False\nTrue\n"


def test_threads_that_train_side_by_side_go_on_undisturbed(tmp_path: Path) -> None:
    text = f"""
import threading
{TRAINING}
def work():
    own = torch.nn.Linear(8, 8)
    descent = Descent(own.parameters())
    for step in range(40):
        own(torch.randn(4, 8)).sum().backward()
        descent.step()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    root = make_project(tmp_path / "project", train=text)
    done = run(root, *QUICKLY, "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "other-thread" in done.process.notes
    assert done.process.lines_of("work")


def test_steps_of_a_thread_beside_the_captured_one_are_its_own(tmp_path: Path) -> None:
    text = f"""
import threading
{TRAINING}
def beside():
    own = torch.nn.Linear(8, 8)
    descent = Descent(own.parameters())
    while not over:
        own(torch.randn(4, 8)).sum().backward()
        descent.step()
over = False
train(1)
thread = threading.Thread(target=beside)
thread.start()
train(60)
over = True
thread.join()
"""
    root = make_project(tmp_path / "project", train=text)
    done = run(root, *QUICKLY, "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [Path(str(closed["trace"])).suffix for closed in done.process.closed] == [".json"]
