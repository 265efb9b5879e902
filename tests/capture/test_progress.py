"""``warplint run --progress FILE``: the stages of a run, told to the program that started it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from programs import QUICKLY, TRAINING, Run, finish, make_project, run, start
from terminals import run_at_terminal

import warplint

PYTHON = sys.executable
SLOWLY = f"""
import time
{TRAINING}
began = time.monotonic()
while time.monotonic() < began + 2.5:
    train(1)
train(8)
print(time.monotonic() - began)
"""


def told(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "progress").read_text().splitlines()]


def stages(root: Path) -> list[str]:
    """The states in order, each once where it was told several times in a row."""
    states = [line["state"] for line in told(root)]
    return states[:1] + [after for before, after in pairwise(states) if before != after]


def tell(root: Path, *words: str) -> Run:
    return run(root, "--progress", "progress", *words)


def test_a_captured_run_tells_its_stages(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=f"import os\n{TRAINING}os.chdir('/')\ntrain(8)\n")
    done = tell(root, *QUICKLY, "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert told(root)[:-1] == [
        {"state": "started", "folder": str(done.folder)},
        {"state": "waiting", "steps": 1},
        {"state": "capturing", "steps": 2},
        {"state": "captured"},
    ]
    last = told(root)[-1]
    said = last.pop("said")
    assert last == {"state": "finished", "exit": 0, "signal": None, "captured": True}
    assert said[0].startswith("captured steps 4 to 5")


def test_waiting_is_told_once_a_second(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=SLOWLY)
    seconds = float(tell(root, "--after", "1000000", "train.py").stdout)
    waiting = [line["steps"] for line in told(root) if line["state"] == "waiting"]
    assert 2 <= len(waiting) <= seconds + 1
    assert waiting == sorted(set(waiting))


def test_captured_is_told_while_the_program_goes_on(tmp_path: Path) -> None:
    text = f"{TRAINING}train(8)\nprint(open('progress').read().splitlines()[-1])\n"
    root = make_project(tmp_path / "project", train=text)
    assert tell(root, *QUICKLY, "train.py").stdout == b'{"state":"captured"}\n'


def test_a_window_that_the_programs_end_closes_is_captured(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=f"{TRAINING}train(5)\n")
    tell(root, "--after", "2", "--steps", "50", "train.py")
    assert stages(root) == ["started", "waiting", "capturing", "captured", "finished"]


def test_inference_tells_its_calls(tmp_path: Path) -> None:
    text = "import torch\nmodel = torch.nn.Linear(8, 8)\nfor step in range(8): model(torch.ones(4, 8))\n"
    root = make_project(tmp_path / "project", infer=text)
    tell(root, "--after", "2", "--steps", "2", "infer.py")
    if sys.version_info >= (3, 12):
        assert stages(root) == ["started", "waiting", "capturing", "captured", "finished"]
    else:
        assert stages(root) == ["started", "finished"]


def test_forward_passes_before_training_are_no_steps(tmp_path: Path) -> None:
    text = f"{TRAINING}for check in range(9): model(torch.ones(4, 8))\ntrain(3)\n"
    root = make_project(tmp_path / "project", train=text)
    tell(root, "train.py")
    assert [line["steps"] for line in told(root) if line["state"] == "waiting"] == [1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("print('runs')", "no process imported torch"), ("import torch", "no window was opened")],
)
def test_a_run_without_steps_says_why_nothing_was_captured(tmp_path: Path, text: str, reason: str) -> None:
    root = make_project(tmp_path / "project", plain=text)
    tell(root, "plain.py")
    started, finished = told(root)
    assert started["state"] == "started"
    assert (finished["exit"], finished["captured"]) == (0, False)
    assert reason in finished["said"][0]


def test_a_killed_program_is_told_with_its_signal(tmp_path: Path) -> None:
    root = make_project(
        tmp_path / "project", train=f"import os\n{TRAINING}train(2)\nos.kill(os.getpid(), 9)\n"
    )
    assert tell(root, "train.py").returncode == -signal.SIGKILL
    finished = told(root)[-1]
    assert (finished["exit"], finished["signal"], finished["captured"]) == (None, signal.SIGKILL, False)


def test_a_program_killed_inside_its_window_has_captured_lines(tmp_path: Path) -> None:
    text = f"import os, time\n{TRAINING}train(5)\ntime.sleep(0.5)\nos.kill(os.getpid(), 9)\n"
    root = make_project(tmp_path / "project", train=text)
    tell(root, "--after", "2", "--steps", "50", "train.py")
    assert stages(root) == ["started", "waiting", "capturing", "finished"]
    assert told(root)[-1]["captured"]


def test_a_terminated_run_still_tells_its_end(tmp_path: Path) -> None:
    text = f"import time\n{TRAINING}train(2)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    root = make_project(tmp_path / "project", train=text)
    process = start(root, "--progress", "progress", "train.py")
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.terminate()
    finish(process, root)
    assert told(root)[-1]["signal"] == signal.SIGTERM


def test_a_command_that_cannot_start_is_told(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train="")
    assert tell(root, "--python", "/no/such/python", "train.py").returncode == 127
    finished = told(root)[-1]
    assert (finished["exit"], finished["captured"]) == (127, False)
    assert finished["said"] == ["/no/such/python: No such file or directory"]


def test_a_run_that_cannot_be_captured_is_told(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", plain="print('runs')")
    done = tell(root, "--", PYTHON, "-I", "plain.py")
    assert done.stdout == b"runs\n"
    started, finished = told(root)
    assert started["folder"] is None
    assert (finished["exit"], finished["captured"]) == (0, False)
    assert "python was given -I" in finished["said"][0]


def test_an_unwritable_file_is_said_once_and_the_program_runs(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=f"{TRAINING}train(8)\nprint('runs')\n")
    done, shown = run_at_terminal(root, "--progress", "missing/progress", *QUICKLY, "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"runs\n", b"")
    assert shown.count("progress") == 2, "in one sentence, once as a word and once in the path"
    assert f"no progress is told in {root}/missing/progress: No such file or directory" in shown
    assert len(done.process.closed) == 1


def test_a_file_that_vanishes_on_the_way_is_said_and_the_capture_goes_on(tmp_path: Path) -> None:
    text = f"import shutil\nshutil.rmtree('told')\n{TRAINING}train(8)\n"
    root = make_project(tmp_path / "project", train=text)
    (root / "told").mkdir()
    done, shown = run_at_terminal(root, "--progress", "told/progress", *QUICKLY, "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert shown.count("no progress is told") == 1
    assert len(done.process.closed) == 1


def test_a_pipe_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=f"{TRAINING}train(8)\n")
    os.mkfifo(root / "progress")
    done = tell(root, *QUICKLY, "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.process.closed) == 1


def test_of_several_ranks_the_first_speaks(tmp_path: Path) -> None:
    text = f"import os, sys, time\n{TRAINING}\ntrain(8)\n"
    launcher = """
    import os, subprocess, sys
    for rank in ("1", "0"):
        subprocess.run([sys.executable, "train.py"], env={**os.environ, "RANK": rank}, check=True)
    """
    root = make_project(tmp_path / "project", train=text, launch=launcher)
    done = tell(root, *QUICKLY, "launch.py")
    assert len(done.processes) == 2
    assert [line["state"] for line in told(root)] == [
        "started",
        "waiting",
        "capturing",
        "captured",
        "finished",
    ]


def test_of_several_programs_the_first_to_step_speaks(tmp_path: Path) -> None:
    launcher = """
    import subprocess, sys
    for words in (["-c", "import torch"], ["train.py"], ["train.py"]):
        subprocess.run([sys.executable, *words], check=True)
    """
    root = make_project(tmp_path / "project", train=f"{TRAINING}train(8)\n", launch=launcher)
    done = tell(root, *QUICKLY, "launch.py")
    assert len(done.processes) == 3
    assert [line["state"] for line in told(root)] == [
        "started",
        "waiting",
        "capturing",
        "captured",
        "finished",
    ]


def test_forked_children_are_silent(tmp_path: Path) -> None:
    text = f"""
import os
{TRAINING}
train(8)
if not os.fork():
    train(8)
    os._exit(0)
os.wait()
"""
    root = make_project(tmp_path / "project", train=text)
    tell(root, *QUICKLY, "train.py")
    assert stages(root) == ["started", "waiting", "capturing", "captured", "finished"]


def test_a_program_runs_in_a_python_that_has_no_warplint(tmp_path: Path) -> None:
    """As from an editor's extension: Warplint lies in a folder of its own, beside no interpreter."""
    bundled = tmp_path / "bundled" / "warplint"
    shutil.copytree(Path(warplint.__file__).parent, bundled / "warplint")
    program_python = make_environment(tmp_path / "environment")
    text = f"""
import importlib.util, sys
before = list(sys.path)
{TRAINING}
train(8)
assert sys.path == before
assert sys.modules["warplint"].__file__.startswith({str(bundled)!r})
assert importlib.util.find_spec("warplint_rules") is None
print(sys.prefix)
"""
    root = make_project(tmp_path / "project", train=text)
    start_it = (
        f"import sys; sys.path.insert(0, {str(bundled)!r}); "
        "from warplint.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["run", "--progress", "progress", *QUICKLY, "--python", str(program_python), "train.py"]
    done = subprocess.run(
        [PYTHON, "-E", "-c", start_it, *words], cwd=root, capture_output=True, check=False, text=True
    )
    assert (done.stdout, done.stderr) == (f"{tmp_path / 'environment'}\n", "")
    assert told(root)[-1]["captured"]


def make_environment(folder: Path) -> Path:
    """A clean virtual environment that sees this one's torch and not its Warplint."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    # Of a folder that a .pth file names no .pth files are read, our editable install's among them.
    (site_packages / "torch.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return folder / "bin" / "python"
