"""How fast ``warplint check`` is beside peers on the same files, in the same run: each promise with its goal.

    python bench/check_speed.py PATH… --torchfix "path/to/torchfix --select ALL" [--runs 3]

The Python files of the paths are copied into a project of their own, so that every tool sees the same files
and nobody's settings. TorchFix (``pip install torchfix`` into an environment of its own, since it pins an old
libcst) and ruff, with all of its rules and without its cache, run in turn with Warplint. Printed are medians
of wall and processor time, children included, and their ratios, which mean something on a busy machine too.
Output is discarded, exit codes are not: a tool that fails to run is an error.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

CORES = 2
SMALL = """\
import torch


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True))
"""
STARTS = 5
"""Starts of a process for each run over the files."""

CHECK = [sys.executable, "-m", "warplint", "check", "--format", "concise"]


@dataclass(slots=True)
class Contestant:
    """A command, and the seconds that its runs took."""

    command: list[str]
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def run(self, arguments: Iterable[Path] = ()) -> None:
        before, begin_s = _children_cpu_s(), time.perf_counter()
        environment = {**os.environ, "RAYON_NUM_THREADS": str(CORES)}
        command = [*self.command, *map(str, arguments)]
        ran = subprocess.run(command, capture_output=True, check=False, env=environment)
        if ran.returncode not in (0, 1):
            said = ran.stderr.decode(errors="replace")[-500:]
            raise SystemExit(f"{shlex.join(command)} ended with {ran.returncode}: {said}")
        self.wall_s.append(time.perf_counter() - begin_s)
        self.cpu_s.append(_children_cpu_s() - before)

    @property
    def wall(self) -> float:
        return statistics.median(self.wall_s)

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpu_s)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def copied(paths: Iterable[Path], project: Path) -> tuple[int, int]:
    """Copy the Python files into a project; how many files and lines there are."""
    (project / "pyproject.toml").touch()
    files = lines = 0
    for number, path in enumerate(paths):
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            target = project / str(number) / (file.name if path.is_file() else file.relative_to(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            files += 1
            lines += file.read_bytes().count(b"\n")
    return files, lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ruff = f"{Path(sys.executable).parent / 'ruff'} check --select ALL --no-cache --isolated"
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--torchfix", required=True, metavar="COMMAND")
    parser.add_argument("--ruff", default=ruff, metavar="COMMAND")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    contestants = {
        "one process": Contestant([*CHECK, "--no-cache", "--jobs", "1"]),
        "two cores": Contestant([*CHECK, "--no-cache", "--jobs", str(CORES)]),
        "warm": Contestant([*CHECK, "--jobs", str(CORES)]),
        "ruff ALL": Contestant(shlex.split(args.ruff)),
        "TorchFix": Contestant(shlex.split(args.torchfix)),
    }
    starting, bare = Contestant([*CHECK, "--no-cache"]), Contestant([sys.executable, "-c", "pass"])
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        files, lines = copied(args.paths, project)
        small = Path(folder) / "small.py"
        small.write_text(SMALL, encoding="utf-8")
        # What is warm has run before.
        Contestant(contestants["warm"].command).run([project])
        for _ in range(args.runs):
            for contestant in contestants.values():
                contestant.run([project])
            for _ in range(STARTS):
                starting.run([small])
                bare.run()
    print(f"{files} files, {lines} lines, {args.runs} runs each, in turn; medians")
    for name, contestant in {**contestants, "small file": starting, "python -c pass": bare}.items():
        print(f"{name:15} {contestant.wall:8.3f} s {contestant.cpu:8.3f} s of CPU")
    one, ruff_all, torchfix = contestants["one process"], contestants["ruff ALL"], contestants["TorchFix"]
    print(
        f"cold, one process: {lines / one.cpu:.0f} lines per CPU second, {torchfix.cpu / one.cpu:.1f} times "
        "TorchFix (goal: at least 50 times)"
    )
    for name, goal in (("two cores", 8), ("warm", 1)):
        ratio = contestants[name].wall / ruff_all.wall
        print(f"{name}: {ratio:.1f} times the wall time of ruff ALL (goal: at most {goal})")
    print(
        f"start-up: {starting.cpu:.3f} s of CPU, {starting.cpu / bare.cpu:.1f} times python -c pass "
        "(goal: below 10 times, 0.1 s where that takes 0.01)"
    )


if __name__ == "__main__":
    main()
