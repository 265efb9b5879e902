"""``warplint doctor``: run on this Python, and its judgement of machines that are not at hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from warplint.capture.shared_memory import too_small
from warplint.capture.tested import doubt
from warplint.commands.doctor.checks import CHECKS, Check, Status, level
from warplint.commands.doctor.facts import Facts

H200: dict[str, Any] = {
    "executable": "/opt/venv/bin/python",
    "python": "3.12.3",
    "system": "Linux",
    "kernel": "6.8.0",
    "torch": "2.11.0+cu130",
    "cuda": "13.0",
    "activities": ["CPU", "CUDA"],
    "gpus": ["NVIDIA H200"],
    "driver": "580.159.03",
    "shm_bytes": 8 << 30,
}


def doctor(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "warplint", "doctor", *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        env=environment,
    )


def checks(**different: Any) -> dict[str, Check]:
    facts = Facts.of_answer({**H200, **different})
    found = [check(facts) for check in CHECKS]
    return {each.name: each for each in found if each is not None}


def not_good(**different: Any) -> set[str]:
    return {name for name, each in checks(**different).items() if each.status is not Status.GOOD}


def test_this_python_is_described() -> None:
    import torch

    ran = doctor("--format", "json", "--python", sys.executable)
    document = json.loads(ran.stdout)
    found = {each["name"]: each for each in document["checks"]}
    assert sys.version.split()[0] in found["Python"]["found"]
    assert str(torch.__version__) in found["torch"]["found"]
    assert document["python"] == sys.executable
    assert ran.returncode == (1 if any(each["status"] == "less" for each in document["checks"]) else 0)


def test_text_ends_with_what_would_be_captured() -> None:
    ran = doctor("--python", sys.executable)
    assert ran.stdout.splitlines()[-1].startswith("`warplint run` would capture steps")
    assert ran.stderr == ""


def test_a_python_without_torch_captures_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    ran = doctor("--python", str(tmp_path / "bare" / folder / "python"))
    assert ran.returncode == 1
    assert "torch" in ran.stdout
    assert "is not installed here" in ran.stdout
    assert "would capture nothing" in ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shebang")
def test_what_cannot_be_asked_is_refused_in_words(tmp_path: Path) -> None:
    no_python = tmp_path / "python"
    no_python.write_text("#!/bin/sh\necho not one >&2\nexit 3\n")
    no_python.chmod(0o755)
    for path, said in [(no_python, "not one"), (tmp_path / "absent", "cannot be run")]:
        ran = doctor("--python", str(path))
        assert ran.returncode == 2
        assert said in ran.stderr
        assert "Traceback" not in ran.stderr


def test_a_tested_machine_has_nothing_to_say_of() -> None:
    assert not_good() == set()
    assert level(Facts.of_answer(H200)) == "steps, lines, and every kernel, copy and wait"


@pytest.mark.parametrize(
    ("different", "name", "said"),
    [
        ({"python": "3.11.9"}, "Python", "sys.settrace"),
        ({"torch": "2.12.1"}, "torch", "has not been tested"),
        ({"torch": "2.3.0"}, "torch", "older than 2.4"),
        ({"torch": None, "torch_error": "OSError: libcudart"}, "torch", "libcudart"),
        ({"cuda": None, "gpus": []}, "GPU", "built for the CPU"),
        ({"gpus": []}, "GPU", "none that it can use"),
        ({"activities": ["CPU"]}, "GPU", "without Kineto"),
        ({"driver": "535.104.05"}, "driver", "older than 580.65"),
        ({"driver": None, "nvml_error": "not installed"}, "NVML", "not installed"),
        ({"shm_bytes": 64 << 20}, "/dev/shm", "64 MB"),
        ({"kernel": "5.15.0-microsoft-standard-WSL2"}, "WSL2", "WSL2"),
        ({"variables": {"NSYS_PROFILING_SESSION_ID": "7"}}, "profilers", "Nsight Systems"),
        ({"variables": {"CUDA_LAUNCH_BLOCKING": "1"}}, "launches", "CUDA_LAUNCH_BLOCKING=1"),
        ({"tools": {"1": "coverage"}}, "tracers", "coverage"),
        ({"tools": {"3": "scalene", "4": "scalene"}}, "tracers", "scalene"),
    ],
)
def test_each_obstacle_is_named_with_what_it_means(different: dict[str, Any], name: str, said: str) -> None:
    found = checks(**different)[name]
    assert said in found.found
    assert found.meaning
    assert name in not_good(**different)


def test_only_what_takes_something_from_a_capture_counts_as_less() -> None:
    assert checks(tools={"1": "coverage"})["tracers"].status is Status.NOTE
    assert checks(tools={"3": "one", "4": "other"})["tracers"].status is Status.LESS
    assert checks(traced=True)["tracers"].status is Status.NOTE
    assert checks(traced=True, python="3.11.9")["tracers"].status is Status.LESS


def test_an_older_driver_serves_an_older_cuda() -> None:
    assert checks(driver="535.104.05", cuda="12.4")["driver"].status is Status.GOOD


def test_versions_are_compared_as_numbers() -> None:
    assert doubt("2.13.0a0+git1234") is None
    assert "older than 2.4" in str(doubt("2.3.1"))
    assert "has not been tested" in str(doubt("2.30.0"))
    assert "has not been tested" in str(doubt("unknown"))


def test_shared_memory_is_little_below_half_a_gigabyte() -> None:
    assert too_small(None) is None
    assert too_small(512 << 20) is None
    assert "--shm-size" in str(too_small((512 << 20) - 1))
