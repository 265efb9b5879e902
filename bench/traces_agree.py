"""Whether imported traces say of kernels and copies what the files do: traces_agree.py FOLDER.

Every `*.json`, `*.json.gz` and `*.tar.gz` under FOLDER that is a trace is imported with `warplint import`,
and the totals of `warplint show --format json` are compared with a count of the file's own events: kernels,
their time, copies that leave a device and their bytes, steps. Files that are no traces are named with what is
said of them. The exit status is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIGURES = ("kernels", "kernel_us", "copies", "copy_bytes", "steps")
ROUNDING_US = 0.001
"""Times are kept in whole nanoseconds, one rounding a kernel."""


@dataclass(frozen=True)
class Outcome:
    """How one file went: ``imported`` and ``counted`` hold FIGURES, or ``refusal`` says why not."""

    counted: dict[str, float]
    imported: dict[str, float]
    summary: str
    refusal: str = ""

    @property
    def agrees(self) -> bool:
        slack = {"kernel_us": ROUNDING_US * max(1.0, self.counted.get("kernels", 0.0))}
        return all(abs(self.counted[name] - self.imported[name]) <= slack.get(name, 0.0) for name in FIGURES)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    differing = traces = 0
    with tempfile.TemporaryDirectory() as name:
        for label, path in files(folder, Path(name)):
            outcome = check(path)
            if outcome.refusal:
                print(f"no trace  {label}: {outcome.refusal}")
                continue
            traces += 1
            differing += not outcome.agrees
            print(f"{'agrees' if outcome.agrees else 'DIFFERS':8}  {label}")
            print(f"          {', '.join(f'{key} {outcome.imported[key]:,.10g}' for key in FIGURES)}")
            if not outcome.agrees:
                print(f"          but the file has {outcome.counted}")
            print(f"          {outcome.summary}")
    print(f"{traces - differing} of {traces} traces agree")
    return 1 if differing else 0


def files(folder: Path, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Names and paths; archives are unpacked into ``scratch``."""
    for path in sorted(folder.rglob("*")):
        label = path.relative_to(folder).as_posix()
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                archive.extractall(scratch / path.stem, filter="data")
            for member in sorted((scratch / path.stem).rglob("*.json*")):
                yield f"{label}: {member.name}", member
        elif path.name.endswith((".json", ".json.gz")):
            yield label, path


def check(path: Path) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        project = Path(name)
        (project / "pyproject.toml").touch()
        imported = warplint(project, "import", str(path.absolute()))
        if imported.returncode:
            prefix, found, refusal = imported.stderr.strip().partition(
                f"warplint: error: {path.absolute()}: "
            )
            if prefix or not found:
                raise RuntimeError(imported.stderr)
            return Outcome({}, {}, "", refusal)
        shown = warplint(project, "show", "--format", "json")
        totals = json.loads(shown.stdout)["totals"]
        summary = " ".join(imported.stdout.split("\n\n")[0].splitlines()[1:])
    return Outcome(count(path), {name: totals[name] for name in FIGURES}, summary)


def warplint(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warplint", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=project, check=False)


def count(path: Path) -> dict[str, float]:
    """By the file's own events, parsed as a whole."""
    raw = path.read_bytes()
    document = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    complete: list[dict[str, Any]] = [event for event in document["traceEvents"] if event["ph"] == "X"]
    kernels = [event for event in complete if event["cat"].lower() == "kernel"]
    copies = [event for event in complete if event["cat"].lower().removeprefix("gpu_") == "memcpy"]
    leaving = [event for event in copies if "DtoD" not in event["name"]]
    steps = {
        event["name"]
        for event in complete
        if event["name"].startswith("ProfilerStep#") and not event["cat"].startswith("gpu_")
    }
    return {
        "kernels": len(kernels),
        "kernel_us": sum(event["dur"] for event in kernels),
        "copies": len(leaving),
        "copy_bytes": sum(event["args"]["bytes"] for event in leaving),
        "steps": len(steps),
    }


if __name__ == "__main__":
    sys.exit(main())
