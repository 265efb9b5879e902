"""What commands say of a run that was killed, or whose GPU records were lost."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from command_line import CommandLine

from warplint.capture.layout import (
    CAPTURES_DIRECTORY,
    STORE,
    RawWriter,
    Record,
    RunManifest,
    raw_name,
)
from warplint.profile.store import open_profile

RECORDED = Path(__file__).parent.parent / "profile" / "data" / "h200-unet3d.tar.xz"
MEASURED, KILLED = "20260101T000000Z-train", "20260102T000000Z-train"


@pytest.fixture
def program(warplint: CommandLine) -> Path:
    """The program beside its capture."""
    warplint.write("pyproject.toml", "")
    with tarfile.open(RECORDED) as archive:
        archive.extractall(warplint.folder / CAPTURES_DIRECTORY, filter="data")
    folder = warplint.folder / CAPTURES_DIRECTORY / MEASURED
    (warplint.folder / CAPTURES_DIRECTORY / "h200-unet3d").rename(folder)
    return warplint.write("train.py", open_profile(folder).sources["train.py"].text)


@pytest.fixture
def killed(warplint: CommandLine) -> Path:
    """A newer capture as SIGKILL leaves it before the first window: begun, and never ended."""
    folder = warplint.folder / CAPTURES_DIRECTORY / KILLED
    folder.mkdir(parents=True)
    where = str(warplint.folder)
    RunManifest(["python", "train.py"], where, where, 1_767_312_000.0, "0.1.0").write(folder)
    writer = RawWriter(folder / raw_name(0, 1))
    writer.write_json(Record.PROCESS, {"rank": 0, "pid": 1, "torch": "2.11.0"})
    writer.close()
    return folder


def test_a_run_that_was_killed_does_not_hide_the_one_before(
    warplint: CommandLine, program: Path, killed: Path
) -> None:
    done = warplint("diagnose")
    assert done.returncode == 0
    assert "waits 24.1 of its 59.3 ms" in " ".join(done.stdout.split())
    assert done.stderr == f"warplint: no step was captured in {KILLED}: this is of {MEASURED}\n"


def test_of_a_run_that_was_killed_alone_it_is_said_that_no_step_was_captured(
    warplint: CommandLine, killed: Path
) -> None:
    (step, *_) = json.loads(warplint("diagnose", "--format", "json").stdout)["sentence"].split(": ")
    assert step == "No step was captured, and the run goes on, or was killed"


def test_lost_gpu_records_are_no_cpu(warplint: CommandLine, program: Path) -> None:
    folder = warplint.folder / CAPTURES_DIRECTORY / MEASURED
    (folder / STORE).unlink(missing_ok=True)
    (trace,) = folder.glob("*.trace.json")
    trace.write_bytes(trace.read_bytes()[: trace.stat().st_size // 2])
    checked = warplint("check", "--with-profile", "train.py").stdout
    assert "Not judged: the capture's GPU records are missing" in checked and "of a CPU" not in checked
    scored = warplint("score", "--with-profile", "train.py").stderr
    assert (
        scored
        == f"warplint: nothing in {CAPTURES_DIRECTORY}/{MEASURED} counts: its GPU records are missing\n"
    )
    shown = " ".join(warplint("show").stdout.split())
    assert "on the host (the GPU records are missing)" in shown and "CPU (no GPU work" not in shown
