"""Planted programs of bench/gpu run here, on a CPU: a capture can tell of one class there, data."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from diagnosing import diagnose

from warplint.advice.diagnosis.verdict import Verdict
from warplint.profile.store import open_profile

PROGRAMS = Path(__file__).parents[2] / "bench" / "gpu" / "programs"
MEASURED = 64
"""Steps in which the program times itself."""


def verdict_of(program: str, kind: str, folder: Path) -> Verdict:
    for name in (program, "planting.py"):
        shutil.copy(PROGRAMS / name, folder)
    (folder / "pyproject.toml").write_text("")
    command = [sys.executable, "-m", "warplint", "run", "--after", str(MEASURED + 4), "--budget", "0", "--"]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [*command, sys.executable, program, kind, str(MEASURED)],
        cwd=folder,
        env=environment,
        check=True,
        timeout=240,
    )
    (capture,) = (folder / ".warplint").glob("*planted*")
    return diagnose(open_profile(capture)).run


def marked(program: str, kind: str) -> int:
    for number, line in enumerate((PROGRAMS / program).read_text(encoding="utf-8").splitlines(), 1):
        if kind in line.partition("# planted: ")[2].split(", "):
            return number
    raise AssertionError(f"{program} marks no {kind}")


@pytest.mark.parametrize(
    ("kind", "causes"),
    [
        # Whether workers compute or lack cores depends on what else this machine does.
        ("workers", {"workers compute", "workers lack cores"}),
        ("inline", {"no workers seen"}),
        ("storage", {"workers wait for storage"}),
    ],
)
def test_a_step_that_waits_for_its_loader(kind: str, causes: set[str], tmp_path: Path) -> None:
    verdict = verdict_of("planted_loader.py", kind, tmp_path)
    assert verdict.bottleneck.value == "data"
    assert verdict.cause in causes
    assert (verdict.file, verdict.line) == ("planted_loader.py", marked("planted_loader.py", kind))
    assert verdict.sentence.startswith("On this CPU, the step waits")


def test_of_other_steps_a_cpu_tells_nothing(tmp_path: Path) -> None:
    verdict = verdict_of("planted_wait.py", "item", tmp_path)
    assert verdict.bottleneck.value == "none"
    assert verdict.sentence.startswith("No GPU work was captured")
