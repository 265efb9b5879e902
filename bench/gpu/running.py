"""Runs programs under a capture, and reads what it says, for the measurements beside this file."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "bench" / "gpu"
PROGRAMS = HERE / "programs"

RUN_S = 150
"""No program here runs longer, unless it hangs."""


@dataclass(frozen=True)
class Ran:
    """A finished run: the last line of its output as JSON, and how long the process took."""

    said: Any
    wall_s: float

    @property
    def settled_step_ms(self) -> float:
        """The median of the last third of its steps, long after a window."""
        ends: list[float] = self.said["ends_s"]
        times = [after - before for before, after in pairwise(ends[-len(ends) // 3 :])]
        return statistics.median(times) * 1e3

    @property
    def loop_s(self) -> float:
        ends: list[float] = self.said["ends_s"]
        return ends[-1] - ends[0]


def run(words: list[str], cwd: Path, environment: dict[str, str] | None = None) -> Ran:
    """Run ``WORDS``. Raises RuntimeError with its last words when it fails."""
    begin = time.perf_counter()
    environment = environment or child_environment()
    try:
        ran = subprocess.run(
            words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=RUN_S
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{words} had not ended after {RUN_S} s") from None
    wall_s = time.perf_counter() - begin
    if ran.returncode:
        raise RuntimeError(f"{words} ended with {ran.returncode}: {ran.stderr[-2000:]}")
    lines = ran.stdout.splitlines()
    said = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None
    return Ran(said, wall_s)


def capture(words: list[str], cwd: Path, *options: str, extra_path: Path | None = None) -> tuple[Path, Ran]:
    """Run ``python WORDS`` under a capture; its folder and what it printed."""
    name = uuid.uuid4().hex
    environment = child_environment()
    if extra_path is not None:
        environment["PYTHONPATH"] += os.pathsep + str(extra_path)
    options = ("--name", name, *options)
    command = [sys.executable, "-m", "warplint", "run", *options, "--", sys.executable, *words]
    ran = run(command, cwd, environment)
    (made,) = (find_root(cwd) / ".warplint").glob(f"*-{name}")
    return made, ran


def python(words: list[str]) -> str:
    ran = subprocess.run(
        [sys.executable, *words], env=child_environment(), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"{words} ended with {ran.returncode}: {ran.stderr[-2000:]}")
    return ran.stdout


def show(folder: Path) -> Any:
    return json.loads(python(["-m", "warplint", "show", "--capture", str(folder), "--format", "json"]))


def notes(folder: Path) -> list[str]:
    """What ``warplint run`` tells about a capture: its price and its doubts."""
    code = "import sys; from pathlib import Path; from warplint.capture.summary import summarize\n"
    code += "print('\\n'.join(summarize(Path(sys.argv[1])).sentences))"
    return python(["-c", code, str(folder)]).splitlines()


def size_bytes(folder: Path) -> int:
    return sum(entry.stat().st_size for entry in folder.iterdir() if entry.is_file())


def truth_folder(scratch: Path) -> Path:
    """truth.py where a library would be, so that its frames are nobody's own code."""
    folder = scratch / "site-packages"
    folder.mkdir(exist_ok=True)
    shutil.copy(HERE / "truth.py", folder / "warplint_truth.py")
    return folder


def find_root(folder: Path) -> Path:
    for each in (folder, *folder.parents):
        if (each / "pyproject.toml").exists() or (each / ".git").exists():
            return each
    return folder


def import_path() -> list[str]:
    """Where this checkout's packages are, for a Python they are not installed in."""
    return [str(ROOT / name) for name in ("analyzers", "rules", "server")]


def child_environment() -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH", "")
    return os.environ | {"PYTHONPATH": os.pathsep.join([*import_path(), inherited])}


def keep(folder: Path, to: Path) -> None:
    shutil.make_archive(str(to), "gztar", folder.parent, folder.name)


def machine() -> dict[str, str]:
    """The device is ``cpu`` where torch has no GPU."""
    code = "import torch, platform; print(torch.__version__, platform.python_version(), "
    code += "torch.cuda.get_device_name() if torch.cuda.is_available() else 'cpu', sep='|')"
    torch_version, python_version, device = python(["-c", code]).strip().split("|")
    asked = shutil.which("nvidia-smi")
    shown = subprocess.run(asked, capture_output=True, text=True).stdout if asked else ""
    driver = re.search(r"Driver Version: ([\d.]+)", shown)
    return {
        "torch": torch_version,
        "python": python_version,
        "device": device,
        "driver": driver[1] if driver else "",
    }
