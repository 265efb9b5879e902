"""How fast traces are read and imported, and in how much memory, beside HolisticTraceAnalysis (same run).

    python bench/trace_speed.py TRACE… [--hta PYTHON] [--long BYTES] [--runs 3]

Each of these runs in a process of its own, in turn with the others; printed are the least processor time of
the runs (imports of modules not counted) and the largest memory:

- read: `read_trace`, the file to columns of numbers;
- import: `warplint import` whole, with the join of costs, the store and what is printed;
- HTA: `parse_trace_dataframe` of traceinsight (`pip install traceinsight` in the environment of PYTHON), the
  file to a table, as its analyses need it.

With --long the first trace is repeated to BYTES (`long_trace.py`) and read and imported: memory must not grow
with the file. HTA needs several times the file's size and is not run on it. A long trace takes two processes:
printed are the processor time of both, that of the first, which is what an import takes where each has a
processor for itself, the time by the clock, and the memory of both, what they share counted once.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from long_trace import repeat

GOAL = 200_000
"""Events a second, of an import."""
HTA_GOAL = 3.0
METADATA = "M"
"""Phase of the events that ``long_trace.py`` does not repeat."""
MEMORY_GOAL_MB = 300
"""Of a trace of 1 GB."""

MEASURED = """
import resource, sys, time
{setup}
clock, begin = time.perf_counter(), time.process_time()
{work}
first, clock = time.process_time() - begin, time.perf_counter() - clock
others = resource.getrusage(resource.RUSAGE_CHILDREN)
peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))
print(first + others.ru_utime + others.ru_stime, first, clock, int(peak.split()[1]) / 1000)
"""
"""``ru_maxrss`` would be that of the process that started this one, if it was larger."""
READ = MEASURED.format(
    setup="from pathlib import Path\nfrom warplint.profile.kineto.reader import read_trace\n"
    "import warplint.profile.kineto.fast",
    work="read_trace(Path(sys.argv[1]))",
)
PARTIAL = READ.replace("read_trace", "read_partial_trace")
"""As an import reads."""
IMPORT = MEASURED.format(
    setup="import os\nfrom warplint.__main__ import main\nimport warplint.commands.import_\n"
    "import warplint.profile.kineto.fast, rich.console, rich.table\n"
    "out, sys.stdout = sys.stdout, open(os.devnull, 'w')",
    work="status = main(['import', sys.argv[1]])\nsys.stdout = out\nassert status == 0",
)
HTA = MEASURED.format(
    setup="from hta.common.trace_parser import parse_trace_dataframe\n"
    "from hta.configs.parser_config import ParserConfig",
    work="parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())",
)


@dataclass(frozen=True)
class Cost:
    """Of one run: processor time of all its processes and of the first, time by the clock, largest memory of
    the first."""

    seconds: float
    first: float
    clock: float
    megabytes: float


def measure(python: str, code: str, trace: Path, folder: Path) -> Cost:
    """Raises CalledProcessError."""
    return _cost(_start(python, code, trace, folder))


def _start(python: str, code: str, trace: Path, folder: Path) -> subprocess.Popen[str]:
    command = [python, "-c", code, str(trace)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)


def _cost(program: subprocess.Popen[str]) -> Cost:
    """What it prints at its end. Raises CalledProcessError."""
    output = program.communicate()[0]
    if program.returncode != 0:
        raise subprocess.CalledProcessError(program.returncode, program.args)
    return Cost(*map(float, output.split()[-4:]))


def measure_with_memory(code: str, trace: Path, folder: Path) -> Cost:
    """With the largest memory of all processes together, looked at twenty times a second. Raises
    CalledProcessError."""
    program = _start(sys.executable, code, trace, folder)
    largest = 0.0
    while program.poll() is None:
        largest = max(largest, _megabytes(program.pid))
        time.sleep(0.05)
    return replace(_cost(program), megabytes=largest)


def _megabytes(process: int) -> float:
    """Of a process and those that it started; what several share counts a part for each."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
        started = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    share = next((line for line in rollup.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return int(share.split()[1]) / 1000 + sum(map(_megabytes, map(int, started.split())))


def best(costs: list[Cost]) -> Cost:
    return replace(min(costs, key=lambda cost: cost.seconds), megabytes=max(cost.megabytes for cost in costs))


def events_in(trace: Path, *without: str) -> int:
    """How many there are, of other phases than these."""
    raw = trace.read_bytes()
    document = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    return sum(event["ph"] not in without for event in document["traceEvents"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--hta", metavar="PYTHON")
    parser.add_argument("--long", type=int, metavar="BYTES")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").touch()
        if asked.hta:
            ratios = [compare(trace.absolute(), asked.hta, asked.runs, folder) for trace in asked.traces]
            print(
                f"import beside HTA, least of all files: {min(ratios):.1f} times as fast (goal {HTA_GOAL:g})"
            )
        if asked.long:
            remember(asked.traces[0].absolute(), asked.long, folder)


def compare(trace: Path, hta: str, runs: int, folder: Path) -> float:
    """Print the three beside each other; returns how many times as fast as HTA an import is."""
    programs = {"read": (sys.executable, READ), "import": (sys.executable, IMPORT), "HTA": (hta, HTA)}
    found: dict[str, list[Cost]] = {program: [] for program in programs}
    for _ in range(runs):
        for program, (python, code) in programs.items():
            found[program].append(measure(python, code, trace, folder))
    costs = {program: best(each) for program, each in found.items()}
    events = events_in(trace)
    print(f"{trace.parent.name}/{trace.name}: {events:,} events, {trace.stat().st_size / 1e6:.1f} MB")
    for program, cost in costs.items():
        times = costs["HTA"].seconds / cost.seconds
        goal = f" (goal {GOAL:,})" if program == "import" else ""
        print(
            f"  {program:7} {cost.seconds:6.2f} s  {events / cost.seconds:9,.0f} events/s"
            f"  {times:4.1f} times HTA's speed  {cost.megabytes:5.0f} MB{goal}"
        )
    return costs["HTA"].seconds / costs["import"].seconds


def remember(trace: Path, size: int, folder: Path) -> None:
    """Read and import a long trace once each."""
    long = folder / "long.json"
    repetitions = repeat(trace, long, size)
    events = repetitions * events_in(trace, METADATA)
    print(f"{trace.name} repeated {repetitions} times: {events:,} events, {long.stat().st_size / 1e9:.2f} GB")
    for program, code in (("read", PARTIAL), ("import", IMPORT)):
        cost = measure_with_memory(code, long, folder)
        goal = f" (goals {GOAL:,}, under {MEMORY_GOAL_MB} MB)" if program == "import" else ""
        print(
            f"  {program:7} {cost.seconds:5.1f} s of both  {events / cost.seconds:7,.0f} events/s"
            f"  {cost.first:5.1f} s of the first  {events / cost.first:7,.0f} events/s"
            f"  {cost.clock:5.1f} s by the clock  {events / cost.clock:7,.0f} events/s"
            f"  {cost.megabytes:5.0f} MB{goal}"
        )
    print(f"load of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
