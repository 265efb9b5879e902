"""What the words after ``warplint run`` start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import make_project, run

from warplint.capture.command import make_command


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python", "train.py"], "train"),
        (["/usr/bin/python3.12", "-u", "-X", "dev", "-Wignore", "src/train.py", "-I"], "train"),
        (["python3", "-m", "package.train", "-S"], "train"),
        (["python", "-um", "package.train"], "train"),
        (["python", "-mpackage.train"], "train"),
        (["python", "-c", "import x", "-E"], "python"),
        (["python", "-"], "python"),
        (["python"], "python"),
        (["torchrun", "--nproc-per-node", "2", "train.py"], "torchrun"),
        (["pythonic-tool", "-I"], "pythonic-tool"),
    ],
)
def test_a_command_is_named_after_its_program_and_started_as_it_is(words: list[str], name: str) -> None:
    command = make_command(words, None)
    assert (command.argv, command.name, command.refusal) == (words, name, None)


@pytest.mark.parametrize("flags", [["-I"], ["-uE"], ["-X", "dev", "-S"], ["-BS"]])
def test_flags_that_keep_us_out_are_found(flags: list[str]) -> None:
    refusal = make_command(["python", *flags, "train.py"], None).refusal
    assert refusal is not None and f"-{flags[-1][-1]}" in refusal


def test_a_script_is_given_the_python_asked_for() -> None:
    assert make_command(["train.py", "-x"], "/opt/python").argv == ["/opt/python", "train.py", "-x"]


def test_a_script_is_given_the_active_environments_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.touch(mode=0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert make_command(["train.py"], None).argv[0] == str(python)


def test_a_script_is_given_our_python_when_it_has_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert make_command(["train.py"], None).argv[0] == sys.executable


SEE = "import sys; print(sys.argv[1:])"


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (["see.py"], []),
        (["see.py", "--steps", "3", "--help"], ["--steps", "3", "--help"]),
        (["--", "see.py", "--", "x"], ["--", "x"]),
        (["see.py", "--", "x", "--"], ["--", "x", "--"]),
        (["--steps", "3", "see.py", "--steps", "4"], ["--steps", "4"]),
        (["--name", "a", "--", "see.py", "-"], ["-"]),
        (["-m", "see", "--steps", "3", "-m", "x"], ["--steps", "3", "-m", "x"]),
        (["--steps", "3", "-m", "see", "x", "--", "y"], ["x", "--", "y"]),
        (["--", "-m", "see", "--help"], ["--help"]),
    ],
)
def test_the_programs_arguments_are_its_own(tmp_path: Path, words: list[str], seen: list[str]) -> None:
    root = make_project(tmp_path / "project", see=SEE)
    done = run(root, "--python", sys.executable, *words)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"{seen}\n", b"")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a command is missing"),
        (["--"], "a command is missing"),
        (["-m"], "a command is missing"),
        (["--steps", "0", "see.py"], "'0' is not a number of steps from 1"),
        (["--after", "-1", "see.py"], "--after"),
        (["--seconds", "inf", "see.py"], "'inf' is not a number of seconds above 0"),
        (["--unknown", "see.py"], "--unknown"),
    ],
)
def test_wrong_usage_exits_with_2(tmp_path: Path, words: list[str], message: str) -> None:
    root = make_project(tmp_path / "project", see=SEE)
    done = run(root, *words)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert not (root / ".warplint").exists()
