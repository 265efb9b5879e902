"""What a capture leaves alone, and takes back, where starting or following goes wrong."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from programs import ON_MONITORING, OPTIMIZER

from warplint.capture import shared_memory
from warplint.capture.gpu import cupti
from warplint.capture.gpu.kineto import ProfilerWatch, Trace
from warplint.capture.graphs.captures import Graphs
from warplint.capture.lines.buffers import Buffers
from warplint.capture.lines.hot_lines import HotLines
from warplint.capture.lines.sources import Sources
from warplint.capture.lines.timeline import Timeline
from warplint.capture.lines.tool_ids import CANDIDATES
from warplint.capture.lines.user_code import UserCode
from warplint.capture.recorder import Recorder
from warplint.capture.steps.clock import ModuleClock
from warplint.capture.summary import summarize
from warplint.capture.window import make_timeline

monitoring: Any = getattr(sys, "monitoring", None)


def in_c_environment() -> bytes | None:
    """What Kineto would find; ``os.environ`` does not tell."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    found: bytes | None = getenv(cupti.VARIABLE.encode())
    return found


class NothingToTrace(Trace):
    """One that torch refuses to start."""

    def _activities(self) -> list[Any]:
        return []


def test_a_trace_that_does_not_start_leaves_the_environment_as_it_was() -> None:
    with pytest.raises(AssertionError):
        NothingToTrace().start()
    assert in_c_environment() is None


def test_a_trace_that_does_not_stop_leaves_the_environment_as_it_was() -> None:
    cupti.ask_to_detach()
    assert in_c_environment() == (b"1" if cupti.may_detach() else None)
    with pytest.raises(AttributeError):
        Trace().stop()
    assert in_c_environment() is None


def test_shared_memory_that_may_not_be_asked_has_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "SHM", Path("/" + 300 * "x"))
    assert shared_memory.shm_bytes() is None


def taken_over(name: str) -> int:
    """Take the id that we hold, as a program does that keeps to no rules."""
    (tool,) = (tool for tool in CANDIDATES if monitoring.get_tool(tool) == "warplint")
    monitoring.free_tool_id(tool)
    monitoring.use_tool_id(tool, name)
    return int(tool)


def test_a_step_clock_lends_no_id_that_it_has_lost() -> None:
    clock = ModuleClock(lambda t_ns: None)
    assert clock.start() is ON_MONITORING
    if not ON_MONITORING:
        assert clock.tool is None
        return
    assert clock.tool in CANDIDATES
    tool = taken_over("theirs")
    try:
        assert clock.tool is None
    finally:
        clock.stop()
        monitoring.free_tool_id(tool)


def test_the_timeline_leaves_what_was_put_in_its_place(tmp_path: Path) -> None:
    user_code = UserCode([tmp_path], [], tmp_path)
    recorder = Recorder(tmp_path / "raw", lambda: None)
    timeline = make_timeline(Buffers(recorder, Sources(recorder, user_code, 0.0)), user_code)
    timeline.start()
    take_the_place = _take_the_callback if ON_MONITORING else _take_the_trace_function
    found, theirs = take_the_place(timeline)
    assert found is theirs


def _take_the_callback(timeline: Timeline) -> tuple[object, object]:
    tool, line = taken_over("theirs"), monitoring.events.LINE

    def theirs(code: object, number: int) -> None:
        """Their callback of lines."""

    try:
        monitoring.register_callback(tool, line, theirs)
        timeline.call_soon(lambda: None, threading.get_ident(), ())
        timeline.mute(HotLines())
        return monitoring.register_callback(tool, line, None), theirs
    finally:
        timeline.stop()
        monitoring.free_tool_id(tool)


def _take_the_trace_function(timeline: Timeline) -> tuple[object, object]:
    def theirs(frame: object, event: str, argument: object) -> None:
        """Their trace function."""

    try:
        sys.settrace(theirs)
        timeline.mute(HotLines())
        timeline.stop()
        return sys.gettrace(), theirs
    finally:
        sys.settrace(None)


def test_what_others_put_around_functions_of_ours_stays(tmp_path: Path) -> None:
    profiler, started = torch.autograd.profiler, list[str]()
    watch = ProfilerWatch(lambda: started.append("theirs"))
    torchs = profiler._prepare_profiler
    watch.install()
    ours = profiler._prepare_profiler
    assert ours is not torchs

    def theirs(*args: Any, **kwargs: Any) -> Any:
        return ours(*args, **kwargs)

    profiler._prepare_profiler = theirs
    try:
        watch.remove()
        assert profiler._prepare_profiler is theirs
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as used:
            torch.ones(3).sum()
        assert "aten::sum" in {event.key for event in used.key_averages()}
        assert started == []
    finally:
        profiler._prepare_profiler = torchs
    watch.install()
    watch.remove()
    assert profiler._prepare_profiler is torchs


def test_graphs_keep_the_functions_that_others_put_around_theirs(tmp_path: Path) -> None:
    graph_class, recorder = torch.cuda.CUDAGraph, Recorder(tmp_path / "raw", lambda: None)
    torchs = graph_class.capture_begin
    graphs = Graphs(recorder, lambda: None, lambda number: None)
    graphs.install()
    # A build of torch without CUDA has no graphs to follow.
    assert (graph_class.capture_begin is torchs) is (torch.version.cuda is None)

    def theirs(graph: object) -> None:
        """Their capture."""

    graph_class.capture_begin = theirs
    try:
        graphs.remove()
        assert graph_class.capture_begin is theirs
    finally:
        graph_class.capture_begin = torchs


ENDING = f"""
import ctypes, sys, torch
from torch.profiler import profile

# Of a build with CUDA 12.6 or later Kineto is asked to let go; it needs no GPU to be asked.
torch.version.cuda = "13.0"

stop, getenv = profile.stop_trace, ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p

def stop_trace(self):
    print("asked to let go:", getenv(b"TEARDOWN_CUPTI"))
    stop(self)

profile.stop_trace = stop_trace
weight = torch.ones(4, requires_grad=True)
{OPTIMIZER}
optimizer = Descent([weight])
for step in range(int(sys.argv[1])):
    weight.sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("steps", "ends_within"), [(12, True), (40, False)])
def test_a_tracer_is_kept_by_a_program_that_ends(tmp_path: Path, steps: int, ends_within: bool) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(ENDING)
    command = [sys.executable, "-m", "warplint", "run", "--after", "5", "--steps", "10"]
    ran = subprocess.run(
        [*command, "train.py", str(steps)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stdout.splitlines() == [f"asked to let go: {(None if ends_within else b'1')!r}"]
    (folder,) = (tmp_path / ".warplint").iterdir()
    (captured, *_) = summarize(folder).sentences
    assert ("the program ended" in captured) is ends_within


NO_GPU_NEEDED = """
import atexit, threading, torch
from warplint.capture.gpu.kineto import why_unsettled

torch.cuda.is_initialized, torch.cuda.current_device = lambda: True, lambda: 0
torch.cuda.synchronize = lambda device: print("waited for", device)
"""
AT_EXIT = f"""{NO_GPU_NEEDED}
atexit.register(lambda: print(why_unsettled(5.0, ending=True)))
"""
UNDER_A_LIMIT = f"""{NO_GPU_NEEDED}
# More than there is: the stack of the thread cannot be had.
threading.stack_size(2**62)
print(why_unsettled(5.0))
print(why_unsettled(5.0, ending=True))
"""
NEVER_DONE = f"""{NO_GPU_NEEDED}
torch.cuda.synchronize = lambda device: threading.Event().wait()
print(why_unsettled(0.1))
"""


def printed_by(program: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120
    )
    return ran.stdout.splitlines()


def test_the_queue_is_waited_for_at_exit_where_no_thread_starts() -> None:
    """Python 3.12.0 and 3.12.1 are those; a GPU is not needed to see it."""
    assert printed_by(AT_EXIT) == ["waited for 0", "None"]


def test_while_the_program_goes_on_nothing_waits_without_end() -> None:
    why = "no thread could be started to wait for the GPU (can't start new thread)"
    assert printed_by(UNDER_A_LIMIT) == [why, "waited for 0", "None"]
    assert printed_by(NEVER_DONE) == ["the GPU was not done within 0.1 s"]
