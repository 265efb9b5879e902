"""The Pythons of this machine, and bare environments made of them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
EXTENSION = REPOSITORY / "vscode-extension"
TARGETS = json.loads((EXTENSION / "scripts" / "targets.json").read_text(encoding="utf-8"))
SUPPORTED: Sequence[str] = TARGETS["pythons"]
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
TOO_OLD = ("2.7", "3.6", "3.7", "3.8", "3.9")

HOSTS = {
    ("Linux", "x86_64"): "linux-x64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Darwin", "x86_64"): "darwin-x64",
    ("Darwin", "arm64"): "darwin-arm64",
}
HOST = HOSTS[platform.system(), platform.machine()]
"""The target whose extension file runs here."""


@cache
def pythons() -> dict[str, str]:
    """The interpreter of each supported version that is there; the one that runs the tests always is."""
    found = {version: found_python(version) for version in SUPPORTED if version != OWN}
    here = {version: path for version, path in found.items() if path is not None}
    return {**here, OWN: str(Path(sys.executable).resolve())}


def found_python(version: str) -> str | None:
    finder = REPOSITORY / ".ci" / "find-python"
    done = subprocess.run([finder, version], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def too_old_pythons() -> list[str]:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [str(path) for version in TOO_OLD for path in versions.glob(f"{version}.*/bin/python")]


class Environment:
    """A virtual environment without a single package, not even pip."""

    def __init__(self, folder: Path, version: str) -> None:
        subprocess.run([pythons()[version], "-m", "venv", "--without-pip", str(folder)], check=True)
        self.python = str(folder / "bin" / "python")
        self.packages = folder / "lib" / f"python{version}" / "site-packages"

    def install(self, *what: str | Path) -> None:
        """Put packages there, and not what they need."""
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", self.packages, *what], check=True)


def launch_command(python: str, extension: Path, strategy: str, *command: str) -> list[str]:
    launcher = extension / "bundled" / "launch.py"
    return [python, "-E", str(launcher), "--import-strategy", strategy, *command]


def launch(
    python: str, extension: Path, strategy: str, *command: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        launch_command(python, extension, strategy, *command),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def probe(python: str, extension: Path, strategy: str = "fromEnvironment") -> dict[str, Any]:
    """What the launcher says would run."""
    done = launch(python, extension, strategy, "probe")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    report: dict[str, Any] = json.loads(line)
    return report
