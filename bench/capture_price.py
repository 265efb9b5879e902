"""What following a program costs it on the CPU: a step outside windows, and plain Python within one.

    python bench/capture_price.py [--python PATH]... [--output FILE]

Every figure is CPU time of the captured process against the same program without Warplint, runs alternating,
the least of each: on a machine that does other things wall time says little.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 2
STEPS = 20_000
LOOP = 200_000

STEPPING = f"""
import json, sys, time, torch
parameter = torch.nn.Parameter(torch.zeros(1))
parameter.grad = torch.zeros(1)
optimizer = torch.optim.SGD([parameter], lr=0.0)
for _ in range(200):
    optimizer.step()
before = time.process_time()
for _ in range({STEPS}):
    optimizer.step()
json.dump([time.process_time() - before], open(sys.argv[1], "w"))
"""
"""Steps as short as they come, most of them after the window."""

BUSY = f"""
import json, sys, time, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train():
    optimizer.zero_grad()
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
def busy(count):
    total = 0
    for index in range(count):
        total += index
        total -= 1
    return total
spent = []
for step in range(30):
    before = time.process_time()
    busy({LOOP})
    spent.append(time.process_time() - before)
    train()
json.dump(spent, open(sys.argv[1], "w"))
"""
"""The window holds steps 3 to 23; each passes a loop of three lines."""
PASSES = {
    "first pass in the window": slice(2, 3),
    "passes 10 to 20": slice(12, 22),
    "after the window": slice(25, 30),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python", action="append", default=[], help="measure under this Python (repeatable)"
    )
    parser.add_argument("--output", type=Path, help="also write the figures to this file")
    args = parser.parse_args()
    lines = [
        f"on {os.cpu_count()} cores, {platform.machine()}; CPU time, the least of {RUNS} runs each way",
        "",
    ]
    for python in args.python or [sys.executable]:
        lines += measured(python)
    text = "\n".join(lines)
    print(text)
    if args.output is not None:
        args.output.write_text(text + "\n", encoding="utf-8")
    return 0


def measured(python: str) -> list[str]:
    version = _said(python, "import platform, torch; print(platform.python_version(), torch.__version__)")
    name, torch = version.split()
    (plain,), (captured,) = _alternating(python, STEPPING, [])
    more_us, of_us = 1e6 * (captured - plain) / STEPS, 1e6 * plain / STEPS
    lines = [
        f"Python {name}, torch {torch}",
        f"  a step outside windows: {more_us:.2f} us more (of {of_us:.1f} us)",
    ]
    spent = _alternating(python, BUSY, ["--after", "2", "--steps", "20"])
    for what, passes in PASSES.items():
        plain, captured = (statistics.median(each[passes]) for each in spent)
        lines.append(f"  a loop of plain Python, {what}: {captured / plain:.2f} times the CPU time")
    return [*lines, ""]


def _alternating(python: str, program: str, options: list[str]) -> tuple[list[float], list[float]]:
    """The least of each figure without and with Warplint."""
    plain, captured = [], []
    for _ in range(RUNS):
        plain.append(_run(python, program, None))
        captured.append(_run(python, program, options))
    return _least(plain), _least(captured)


def _least(runs: list[list[float]]) -> list[float]:
    return [min(figures) for figures in zip(*runs, strict=True)]


def _run(python: str, program: str, options: list[str] | None) -> list[float]:
    """What the program measured of itself; ``options`` None runs it without Warplint."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text("", encoding="utf-8")
        (Path(folder) / "program.py").write_text(program, encoding="utf-8")
        command = [python, "program.py", "figures.json"]
        if options is not None:
            command = [sys.executable, "-m", "warplint", "run", *options, "--", *command]
        subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        figures: list[float] = json.loads((Path(folder) / "figures.json").read_text(encoding="utf-8"))
    return figures


def _said(python: str, code: str) -> str:
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
