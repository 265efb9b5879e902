"""Long traces are read and joined in two processes: what comes out is what one would have given.

Each case runs in a process of its own, which has one thread, as the command has.
"""

from __future__ import annotations

import gzip
import json
import signal
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


def ran(code: str, *arguments: str) -> str:
    """What a program prints that has no errors to print."""
    command = [sys.executable, "-c", code, *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert output.stderr == ""
    return output.stdout


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


@pytest.mark.parametrize("first", [0, 5])
def test_times_of_both_halves_count_from_the_same(first: int, tmp_path: Path) -> None:
    def event(category: str, name: str, begin: float) -> dict[str, Any]:
        return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": begin, "dur": 5.0}

    operators = [event("cpu_op", f"op{number}", 10.0 * number) for number in range(1, 4000)]
    events = [event("user_annotation", "first", float(first)), *operators]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    code = (
        "import sys\nfrom pathlib import Path\nfrom warplint.profile import second_process\n"
        "from warplint.profile.kineto import halves, reader\n"
        "halves.LEAST_BYTES, halves.can_fork, second_process.can_fork = 0, lambda: True, lambda: True\n"
        "for read in reader.read_partial_trace, reader.read_trace:\n"
        "    trace = read(Path(sys.argv[1]))\n"
        "    print(trace.origin_us, trace.operators.start[-1])"
    )
    output = ran(code, str(path))
    assert output == f"{first} {39_990_000 - first * 1000}\n" * 2


def test_an_event_without_an_end_in_the_second_half_is_told_as_of_the_file(tmp_path: Path) -> None:
    event = json.dumps({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 10, "dur": 5})
    path = tmp_path / "trace.json"
    path.write_text(f"[{', '.join([event] * 100)}, {event[:-1]}, " + "x" * 4000, encoding="utf-8")
    code = (
        "import sys\nfrom pathlib import Path\nfrom warplint.profile import second_process\n"
        "from warplint.profile.kineto import events, halves, reader, trace\n"
        "halves.LEAST_BYTES, halves.can_fork, second_process.can_fork = 0, lambda: True, lambda: True\n"
        "events.LONGEST_EVENT = 2000\n"
        "try:\n    reader.read_partial_trace(Path(sys.argv[1]))\n"
        "except trace.TraceError as error:\n    print(error)"
    )
    assert ran(code, str(path)) == f"event 101, at byte {1 + 100 * (len(event) + 2):,}, does not end\n"


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


FAILING = """
import errno, os
from warplint.profile import second_process

second_process.can_fork = lambda: True

def fails(*args, **kwargs):
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

fork, pipe = os.fork, os.pipe
for os.fork, os.pipe in ((fails, pipe), (fork, fails)):
    with second_process.SecondProcess(lambda: ["a", "b"]) as second:
        print(list(second.made()))
"""


def test_where_no_process_can_be_started_the_first_does_all() -> None:
    assert ran(FAILING) == "['a', 'b']\n" * 2


ORPHANED = """
import os, signal, time
from warplint.profile import second_process

second_process.can_fork = lambda: True
read, write = os.pipe()

def make():
    os.write(write, b".")
    time.sleep(1000)

second_process.SecondProcess(make)
os.read(read, 1)
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_the_second_process_ends_with_a_killed_first() -> None:
    # It has the output open as well: that is at its end when both are.
    command = [sys.executable, "-c", ORPHANED]
    output = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (output.returncode, output.stdout, output.stderr) == (-signal.SIGTERM, "", "")


INTERRUPTED = """
import os, signal
from warplint.profile import second_process

second_process.can_fork = lambda: True
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
with second_process.SecondProcess(lambda: [os.getpid()]) as second:
    print(list(second.made()) == [second._process.pid])

os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    second_process.SecondProcess(lambda: ())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_while_the_second_process_starts_is_met_by_the_first_alone() -> None:
    assert ran(INTERRUPTED) == "True\ninterrupted\n"


def test_a_process_with_threads_is_not_forked() -> None:
    code = (
        "import threading\nfrom warplint.profile.second_process import can_fork\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\nprint(can_fork())"
    )
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert output.stdout == "False\n"
