"""How long ``warplint check`` takes beside a peer on the same files, in the same run.

    python bench/check_speed.py PATH… --peer "path/to/torchfix --select ALL" [--runs 3]

The peer is any command that takes the paths as its last words; TorchFix (``pip install torchfix`` into an
environment of its own, since it pins an old libcst) is what the recorded results were made with. The two run
in turn; printed are the median seconds, lines per second, and the ratio. Output is discarded, exit codes
are not: a peer that fails to run is an error.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path


def count_lines(paths: list[Path]) -> tuple[int, int]:
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    return len(files), sum(file.read_bytes().count(b"\n") for file in files)


def seconds(command: list[str], paths: list[Path]) -> float:
    begin = time.perf_counter()
    ran = subprocess.run([*command, *map(str, paths)], capture_output=True, check=False)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{shlex.join(command)} ended with {ran.returncode}: {ran.stderr.decode()[-500:]}")
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    ours = [sys.executable, "-m", "warplint", "check", "--no-cache", "--format", "concise"]
    peer = shlex.split(args.peer)
    files, lines = count_lines(args.paths)
    times: dict[str, list[float]] = {"warplint": [], "peer": []}
    for _ in range(args.runs):
        times["warplint"].append(seconds(ours, args.paths))
        times["peer"].append(seconds(peer, args.paths))
    print(f"{files} files, {lines} lines, {args.runs} runs each, in turn")
    for name, command in (("warplint", ours), ("peer", peer)):
        median = statistics.median(times[name])
        print(f"{name:9} {median:8.2f} s  {lines / median:10.0f} lines/s  {shlex.join(command)}")
    ratio = statistics.median(times["peer"]) / statistics.median(times["warplint"])
    print(f"warplint is {ratio:.1f} times as fast")


if __name__ == "__main__":
    main()
