"""Long traces are read and joined in two processes: what comes out is what one would have given.

Each case runs in a process of its own, which has one thread, as the command has.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TRACES = Path(__file__).parents[1] / "data" / "traces"

IMPORT = """
import dataclasses, json, resource, sys
from pathlib import Path
from warplint.profile import second_process
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.kineto import halves, slices

path, two = Path(sys.argv[1]), sys.argv[2] == "2"
slices.SLICE_EVENTS, halves.LEAST_BYTES = int(sys.argv[3]), 0
halves.can_fork = second_process.can_fork = lambda: two
profile = import_traces(by_rank([path]), path.parent)
print(json.dumps([dataclasses.asdict(profile), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0]))
"""


def imported(path: Path, processes: int, events: int = 1 << 30) -> dict[str, Any]:
    command = [sys.executable, "-c", IMPORT, str(path), str(processes), str(events)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert output.stderr == ""
    profile, had_child = json.loads(output.stdout)
    assert had_child == (processes == 2)
    assert isinstance(profile, dict)
    return profile


def text_of(name: str) -> bytes:
    return gzip.decompress((TRACES / name).read_bytes())


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("hta/sampled_rank-0.json.gz", 1500),
        ("tracelens/h100_stacks.json.gz", 900),
        ("tracelens/mi210_gpu_only.json.gz", 400),
        ("warplint/callers.json.gz", 50),
    ],
)
def test_costs_and_notes_are_the_same(name: str, events: int, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text_of(name))
    assert imported(path, 2, events) == imported(path, 1, events)


def test_places_in_the_second_half_are_those_in_the_file(tmp_path: Path) -> None:
    whole = text_of("hta/sampled_rank-0.json.gz")
    malformed = whole.index(b'"ts": ', len(whole) * 2 // 3)
    cut = whole.index(b'"ts": ', len(whole) * 5 // 6)
    path = tmp_path / "trace.json"
    path.write_bytes(whole[:malformed] + b'"ts": "soon", "was": ' + whole[malformed + len(b'"ts": ') : cut])
    profile = imported(path, 2)
    assert profile == imported(path, 1)
    begin = whole.rindex(b"{", 0, malformed)
    line = whole.count(b"\n", 0, begin) + 1
    notes = " ".join(profile["notes"])
    assert f"in line {line:,} at byte {begin:,}: its ts is no number" in notes
    assert "the trace is not whole: it ends in the middle of an event, event " in notes


def test_a_middle_within_an_event_is_none(tmp_path: Path) -> None:
    def operator(number: int, **args: Any) -> dict[str, Any]:
        event = {"ph": "X", "cat": "cpu_op", "name": f"op{number}", "pid": 1, "tid": 1, "dur": 5}
        return {**event, "ts": 100 + 10 * number, "args": args}

    # Within its list stand objects that might be events.
    inner = [operator(1000 + number) for number in range(500)]
    path = tmp_path / "trace.json"
    events = [*map(operator, range(20)), operator(20, list=inner), *map(operator, range(21, 40))]
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    profile = imported(path, 2)
    assert profile == imported(path, 1)
    assert {line["file"] for line in profile["lines"]} == {f"op{number}" for number in range(40)}


KILLED = """
import os, signal, sys
from warplint.profile import second_process

second_process.can_fork = lambda: True
first = os.getpid()

def make(harm):
    yield "a"
    if os.getpid() != first:
        harm()
    yield "b"

for harm in (lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 / 0):
    with second_process.SecondProcess(lambda: make(harm)) as second:
        print(list(second.made()))

with second_process.SecondProcess(lambda: ["x" * (1 << 20), "y", "z"]) as second:
    made = second.made()
    print(len(next(made)))
    second._process.kill()
    second._process.join()
    print(list(made))

try:
    with second_process.SecondProcess(lambda: [first]) as second:
        raise ValueError
except ValueError:
    print(second._process.exitcode is not None)
"""


def test_what_a_killed_process_had_to_do_is_done_by_the_first() -> None:
    command = [sys.executable, "-c", KILLED]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert output.stdout.splitlines() == ["['a', 'b']"] * 2 + [str(1 << 20), "['y', 'z']", "True"]
    assert output.stderr == ""


def test_a_process_with_threads_is_not_forked() -> None:
    code = (
        "import threading\nfrom warplint.profile.second_process import can_fork\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\nprint(can_fork())"
    )
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert output.stdout == "False\n"
