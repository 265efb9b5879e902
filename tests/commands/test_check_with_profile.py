"""``warplint check --with-profile``, on the program that was captured on an H200."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from command_line import CommandLine

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST
from warplint.profile.store import open_profile

RECORDED = Path(__file__).parent.parent / "profile" / "data" / "h200-unet3d.tar.xz"
CAPTURE = f"{CAPTURES_DIRECTORY}/h200-unet3d"


@pytest.fixture
def program(warplint: CommandLine) -> Path:
    """The program beside its capture."""
    warplint.write("pyproject.toml", "")
    with tarfile.open(RECORDED) as archive:
        archive.extractall(warplint.folder / CAPTURES_DIRECTORY, filter="data")
    text = open_profile(warplint.folder / CAPTURE).sources["train.py"].text
    return warplint.write("train.py", text)


def test_findings_are_listed_by_what_they_cost(warplint: CommandLine, program: Path) -> None:
    done = warplint("check", "--with-profile", "train.py")
    assert done.returncode == 1, done.stderr
    heads = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("WL")]
    assert heads[:3] == ["WL301", "WL055", "WL052"]
    assert "Costs 24.1 ms of a 59.3 ms step: the GPU has no batch to work on." in done.stdout
    assert "Measured: 6 confirmed, 2 found by measuring alone." in done.stdout
    # Of 59.3 ms: 24.1 without a batch, 20.1 of them in the data set itself; 1.5, 0.14, 0.07, 0.05, 0.05.
    assert "Together they lose 44% of a step." in done.stdout


@pytest.mark.parametrize("way", [("--with-profile",), ("--with-profile", CAPTURE)], ids=["newest", "named"])
def test_json_has_what_was_measured(warplint: CommandLine, program: Path, way: tuple[str, ...]) -> None:
    done = warplint("check", *way, "--format", "json")
    found = {(it["code"], it["line"]): it for it in json.loads(done.stdout)}
    (item,) = [it for (code, _), it in found.items() if code == "WL201"]
    assert item["measured"]["outcome"] == "confirmed"
    # Idle on the line of the read: 721 µs in ten steps; the read itself takes 19 µs more.
    assert item["measured"]["cost_us"] == pytest.approx(70, abs=2)
    assert item["severity"] == "info"


@pytest.mark.parametrize("chosen", ["concise", "sarif", "github", "gitlab", "junit"])
def test_every_format_takes_what_was_measured(warplint: CommandLine, program: Path, chosen: str) -> None:
    done = warplint("check", "--with-profile", "--format", chosen, "train.py")
    assert done.returncode == 1, done.stderr
    assert "WL055" in done.stdout and "Costs 24.1 ms of a 59.3 ms step" in done.stdout


def test_a_run_without_the_option_is_as_before_and_loads_no_captures(
    warplint: CommandLine, program: Path
) -> None:
    assert warplint("check", "--with-profile", "train.py").returncode == 1
    plain = warplint("check", "--format", "concise", "train.py")
    assert "Costs" not in plain.stdout and "WL055" not in plain.stdout
    code = (
        "import sys; from warplint.__main__ import main; main(['check', '--no-cache', 'train.py']); "
        "unwanted = {'sqlite3', 'warplint.advice', 'warplint.profile'}; "
        "print(sorted(unwanted & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=warplint.folder, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_without_a_capture_it_says_how_to_make_one(warplint: CommandLine) -> None:
    warplint.write("pyproject.toml", "")
    warplint.write("train.py", "import torch\n")
    done = warplint("check", "--with-profile", "train.py")
    assert done.returncode == 2
    assert "warplint run -- python train.py" in done.stderr


@pytest.mark.parametrize("command", ["check", "score"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (CAPTURES_DIRECTORY, "is not a capture: it has no run.json"),
        ("artifact", "is not a capture: it has no run.json"),
        (f"{CAPTURES_DIRECTORY}/gone", f"no such folder: {CAPTURES_DIRECTORY}/gone"),
        ("empty", "neither captures nor Python files in empty"),
    ],
    ids=["the folder of captures", "without run.json", "a name that is gone", "an empty folder"],
)
def test_what_is_no_capture_is_not_taken_for_code(
    command: str, given: str, said: str, warplint: CommandLine, program: Path
) -> None:
    """A run that is to count a capture, and checks nothing instead, would pass."""
    (warplint.folder / "empty").mkdir()
    (warplint.folder / CAPTURE).rename(warplint.folder / "artifact")
    (warplint.folder / "artifact" / MANIFEST).unlink()
    done = warplint(command, "--with-profile", given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("warplint: error: --with-profile: ")
    assert done.stderr.splitlines()[-1].endswith(said)


@pytest.mark.parametrize("command", ["check", "score"])
def test_a_path_after_the_option_is_still_checked(command: str, warplint: CommandLine, program: Path) -> None:
    (warplint.folder / "code").mkdir()
    program.rename(warplint.folder / "code" / "train.py")
    done = warplint(command, "--with-profile", "code")
    assert "code/train.py" in done.stdout and done.stderr == ""


def test_it_only_checks(warplint: CommandLine, program: Path) -> None:
    done = warplint("check", "--with-profile", "--fix", "train.py")
    assert done.returncode == 2
    assert "--with-profile is for checking" in done.stderr
