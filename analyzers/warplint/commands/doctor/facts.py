"""What is known of the machine and of the Python that would run the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from warplint.capture import probe
from warplint.capture.shared_memory import shm_bytes

PROBE_S = 120.0
"""Importing torch from a cold network disk can take a minute."""
RUNS_PYTHON_SINCE = (3, 10)


class ProbeFailed(Exception):
    """The Python cannot be asked; the message says why."""


@dataclass(frozen=True)
class Facts:
    """The probe's answers (capture/probe.py), and what any Python would find of the machine."""

    executable: str
    python: str
    system: str
    kernel: str
    variables: dict[str, str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    traced: bool = False
    torch: str | None = None
    torch_error: str | None = None
    cuda: str | None = None
    hip: str | None = None
    activities: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    driver: str | None = None
    nvml_error: str | None = None
    shm_bytes: int | None = None
    in_container: bool = False

    @classmethod
    def of_python(cls, executable: str) -> Facts:
        """Raises ProbeFailed."""
        return cls.of_answer({**_ask(executable), "shm_bytes": shm_bytes(), "in_container": _in_container()})

    @classmethod
    def of_answer(cls, answer: dict[str, Any]) -> Facts:
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in answer.items() if name in known})

    @property
    def version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.python.split(".")[:2])

    @property
    def in_wsl(self) -> bool:
        return "microsoft" in self.kernel.lower()

    @property
    def traces_gpu(self) -> bool:
        """Whether torch can record kernels; its ``CUDA`` stands for ROCm too."""
        return "CUDA" in self.activities and bool(self.gpus)


def _ask(executable: str) -> dict[str, Any]:
    try:
        ran = subprocess.run(
            [executable, str(Path(probe.__file__))],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_S,
        )
    except OSError as error:
        raise ProbeFailed(f"{executable} cannot be run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise ProbeFailed(f"{executable} had not imported torch after {PROBE_S:.0f} s") from None
    for line in ran.stdout.splitlines():
        if line.startswith(probe.MARK):
            answer: dict[str, Any] = json.loads(line.removeprefix(probe.MARK))
            return answer
    said = (ran.stderr.strip().splitlines() or [f"it ended with {ran.returncode}"])[-1]
    oldest = ".".join(map(str, RUNS_PYTHON_SINCE))
    raise ProbeFailed(f"{executable} is no Python {oldest} or later that can be asked: {said}")


def _in_container() -> bool:
    if sys.platform != "linux":
        return False
    return Path("/.dockerenv").exists() or "KUBERNETES_SERVICE_HOST" in os.environ
