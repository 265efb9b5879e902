"""What starting Kineto does to a process that has had nothing to do with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from programs import make_project, run_plainly

OPENING = """
import sys, warnings
warnings.simplefilter("error")
import torch
from pathlib import Path
from warplint.capture.gpu.kineto import Trace
before = set(sys.modules)
for cycle in ("first", "second"):
    trace = Trace()
    trace.start()
    torch.ones(3).exp()
    trace.stop()
    trace.export(Path(f"{cycle}.json"))
late = sorted(name for name in set(sys.modules) - before if name.startswith("torch."))
print(len(late), [name for name in late if "_inductor" in name or "_dynamo" in name])
"""


def test_opening_imports_no_compiler(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", opening=OPENING)
    done = run_plainly(root, sys.executable, "opening.py")
    assert done.returncode == 0, done.stderr
    count, compilers = done.stdout.decode().split(maxsplit=1)
    assert int(count) < 20 and compilers == "[]\n"
    for cycle in ("first", "second"):
        events = json.loads((root / f"{cycle}.json").read_text())["traceEvents"]
        names = [event["name"] for event in events if event.get("cat") == "cpu_op"]
        operators = [name for name in names if name.startswith("aten::")]
        assert operators == ["aten::ones", "aten::empty", "aten::fill_", "aten::exp"]


OWN = """
import torch
from warplint.capture.gpu.kineto import Trace
calls, of_torch = 0, torch.profiler.profile.METHOD
def counted(self):
    global calls
    calls += 1
    of_torch(self)
torch.profiler.profile.METHOD = counted
trace = Trace()
trace.start()
trace.stop()
print(calls)
"""


@pytest.mark.parametrize("method", ["prepare_trace", "start_trace"])
def test_a_method_that_the_program_put_there_runs_as_it_is(tmp_path: Path, method: str) -> None:
    root = make_project(tmp_path / "project", opening=OWN.replace("METHOD", method))
    done = run_plainly(root, sys.executable, "opening.py")
    assert (done.returncode, done.stdout) == (0, b"1\n"), done.stderr
