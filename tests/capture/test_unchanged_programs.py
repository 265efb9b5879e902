"""A program under ``warplint run`` behaves as it does without: what it sees, what it writes, how it ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from programs import finish, make_project, run, run_plainly, says_warplint, start

PYTHON = sys.executable
SEEN = """
import os, sys, threading
ours = {"PYTHONPATH", "WARPLINT_CAPTURE"}
print(sys.argv, sys.orig_argv[1:], os.getcwd(), __file__, __name__)
print(sys.path, sys.flags, sys.warnoptions, sys._xoptions)
print(sorted(set(sys.modules) - {"sitecustomize", "__future__"}))
print({name: value for name, value in os.environ.items() if name not in ours})
print(threading.active_count(), sys.gettrace(), sys.getprofile())
"""


def test_a_program_sees_the_same_world(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", see=SEEN)
    words = [PYTHON, "-X", "utf8", "see.py", "--", "-x", "a b", ""]
    plainly = run_plainly(root, *words)
    captured = run(root, "--", *words)
    assert captured.stdout.decode() == plainly.stdout.decode()
    assert captured.stderr == plainly.stderr == b""


@pytest.mark.parametrize("words", [["see.py", "a"], ["-m", "see", "a"]])
def test_a_script_or_module_gets_a_python_before_it(tmp_path: Path, words: list[str]) -> None:
    root = make_project(tmp_path / "project", see="import sys; print(sys.executable, sys.argv[1:])")
    done = run(root, "--python", PYTHON, "--", *words)
    assert done.stdout.decode() == f"{PYTHON} ['a']\n"


def test_the_users_pythonpath_is_kept(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", see="import sys; print(sys.path)")
    path = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")])
    done = run(root, "--", PYTHON, "see.py", environment={"PYTHONPATH": path})
    assert f"'{tmp_path / 'one'}', '{tmp_path / 'two'}'" in done.stdout.decode()
    assert "bootstrap" not in done.stdout.decode()


@pytest.mark.parametrize(
    ("text", "returncode"),
    [
        ("import sys; sys.exit(3)", 3),
        ("raise KeyError('no')", 1),
        ("import os; os._exit(5)", 5),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_a_program_ends_as_it_would(tmp_path: Path, text: str, returncode: int) -> None:
    root = make_project(tmp_path / "project", end=text)
    plainly, captured = run_plainly(root, PYTHON, "end.py"), run(root, "--", PYTHON, "end.py")
    assert captured.returncode == plainly.returncode == returncode
    assert captured.stderr == plainly.stderr
    assert captured.captures == [], "a run in which nothing was captured leaves nothing"


@pytest.mark.parametrize(
    ("ending", "exit_code", "number"),
    [("sys.exit(3)", 3, None), ("os.kill(os.getpid(), 9)", None, signal.SIGKILL)],
)
def test_the_manifest_says_how_the_program_ended(
    tmp_path: Path, ending: str, exit_code: int | None, number: int | None
) -> None:
    root = make_project(tmp_path / "project", end=f"import os, sys, torch\n{ending}\n")
    manifest = run(root, "--", PYTHON, "end.py").manifest
    assert (manifest.exit_code, manifest.signal) == (exit_code, number)
    assert manifest.finished is not None


def test_standard_input_and_binary_output_pass_through(tmp_path: Path) -> None:
    text = """
    import sys
    sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])
    print("!", file=sys.stderr)
    """
    root = make_project(tmp_path / "project", cat=text)
    data = bytes(range(256)) * 500
    done = run(root, "--", PYTHON, "cat.py", stdin=data)
    assert (done.stdout, done.stderr) == (data[::-1], b"!\n")


def test_a_command_need_not_be_python(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    done = run(root, "--", "sh", "-c", "echo out; echo err >&2; exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (4, b"out\n", b"err\n")


@pytest.mark.parametrize(("word", "returncode"), [("./missing", 127), ("./readable", 126)])
def test_a_command_that_cannot_start_is_an_error(tmp_path: Path, word: str, returncode: int) -> None:
    root = make_project(tmp_path / "project")
    (root / "readable").write_text("", encoding="utf-8")
    done = run(root, "--", word)
    assert done.returncode == returncode
    assert word in done.stderr.decode()
    assert not list((root / ".warplint").iterdir())


def test_the_users_sitecustomize_runs(tmp_path: Path) -> None:
    root = make_project(
        tmp_path / "project", see="import builtins, sitecustomize; print(builtins.made, sitecustomize)"
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "sitecustomize.py").write_text("import builtins; builtins.made = __file__", encoding="utf-8")
    path = {"PYTHONPATH": str(outside)}
    done = run(root, "--", PYTHON, "see.py", environment=path)
    file = outside / "sitecustomize.py"
    assert done.stdout.decode() == f"{file} <module 'sitecustomize' from '{file}'>\n"


def test_a_failing_sitecustomize_fails_as_it_would(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", see="print('runs')")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "sitecustomize.py").write_text("raise RuntimeError('mine')", encoding="utf-8")
    done = run(root, "--", PYTHON, "see.py", environment={"PYTHONPATH": str(outside)})
    assert done.stdout == b"runs\n"
    assert b"RuntimeError: mine" in done.stderr


WAITING = """
import signal, sys, time
def handle(number, frame):
    print("got", number, flush=True)
    sys.exit(7)
if len(sys.argv) > 1:
    signal.signal(int(sys.argv[1]), handle)
print("ready", flush=True)
time.sleep(60)
"""


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_to_us_reach_the_programs_handler(tmp_path: Path, number: signal.Signals) -> None:
    root = make_project(tmp_path / "project", wait=WAITING)
    process = start(root, "--", PYTHON, "wait.py", str(number.value))
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    done = finish(process, root)
    assert (done.returncode, done.stdout) == (7, f"got {number.value}\n".encode())


COUNTING = """
import signal, sys, time
got = []
for number in map(int, sys.argv[1:]):
    signal.signal(number, lambda number, frame: got.append(number))
print("ready", flush=True)
while not got:
    time.sleep(0.01)
time.sleep(1)
print(got)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_to_the_whole_group_come_to_the_program_once(tmp_path: Path, number: signal.Signals) -> None:
    root = make_project(tmp_path / "project", count=COUNTING)
    process = start(root, "--", PYTHON, "count.py", str(number.value))
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, number)
    done = finish(process, root)
    assert (done.returncode, done.stdout) == (0, f"[{number.value}]\n".encode())


def test_a_program_in_a_group_of_its_own_gets_what_the_group_of_ours_got(tmp_path: Path) -> None:
    text = "import os\nos.setpgid(0, 0)\n" + COUNTING
    root = make_project(tmp_path / "project", count=text)
    process = start(root, "--", PYTHON, "count.py", str(signal.SIGINT.value))
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, signal.SIGINT)
    done = finish(process, root)
    assert (done.returncode, done.stdout) == (0, b"[2]\n")


def test_nothing_of_ours_outlives_us(tmp_path: Path) -> None:
    text = "import os, time\nprint(os.getppid(), flush=True)\ntime.sleep(60)\n"
    root = make_project(tmp_path / "project", wait=text)
    process = start(root, "--", PYTHON, "wait.py")
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    program, witness = _program_and_witness(process.pid)
    process.kill()
    process.wait()
    try:
        deadline = time.monotonic() + 20
        while _command(witness) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _command(witness)
    finally:
        os.kill(program, signal.SIGKILL)


def test_a_witness_that_was_stopped_holds_nobody_up(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", wait=WAITING)
    process = start(root, "--", PYTHON, "wait.py", str(signal.SIGTERM.value))
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    _, witness = _program_and_witness(process.pid)
    os.kill(witness, signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    done = finish(process, root)
    assert (done.returncode, done.stdout) == (7, b"got 15\n")
    assert not _command(witness)


def _program_and_witness(pid: int) -> tuple[int, int]:
    """The children of ``warplint run``: the witness is a fork of it, with its command."""
    children = set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    (witness,) = (child for child in children if _command(child) == _command(pid))
    (program,) = children - {witness}
    return program, witness


def _command(pid: int) -> bytes:
    """Empty when the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_an_unhandled_interrupt_kills_us_by_the_same_signal(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", wait=WAITING)
    process = start(root, "--", PYTHON, "wait.py")
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, signal.SIGINT)
    done = finish(process, root)
    assert done.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in done.stderr and not says_warplint(root, done.stderr)


def test_a_signal_ignored_from_outside_stays_ignored(tmp_path: Path) -> None:
    text = "import signal; print(signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGINT))"
    root = make_project(tmp_path / "project", see=text)

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    done = run(root, "--", PYTHON, "see.py", preexec_fn=ignore)
    assert done.stdout.split()[0] == b"1", "1 is SIG_IGN"


def test_waiting_costs_no_time(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", sleep="import time; time.sleep(1)")
    process = start(root, "--", PYTHON, "sleep.py")
    time.sleep(0.5)
    assert process.poll() is None
    assert finish(process, root).returncode == 0
