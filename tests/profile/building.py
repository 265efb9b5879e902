"""Builds small captures by hand: a Kineto trace and a line timeline on one clock, in microseconds."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracefile import parse_trace

from warplint.capture.layout import RawWriter, Record, RunManifest, raw_name, trace_name
from warplint.profile.kineto.trace import Trace
from warplint.source.text import SourceText

MAIN = 100
AUTOGRAD = 200
ROOT = "/app"
# The two clocks count from different instants, as Kineto's and perf_counter do.
TRACE_ORIGIN_US = 5_000_000
HOST_ORIGIN_US = 70_000


@dataclass
class TraceBuilder:
    """Collects events; every time is in microseconds since the window's own zero."""

    events: list[dict[str, Any]] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=dict)

    def complete(self, category: str, name: str, thread: int, start: float, end: float, **args: Any) -> None:
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 1,
                "tid": thread,
                "ts": TRACE_ORIGIN_US + start,
                "dur": end - start,
                "args": args,
            }
        )

    def op(
        self,
        name: str,
        start: float,
        end: float,
        thread: int = MAIN,
        sequence: int | None = None,
        forward_thread: int = 0,
    ) -> None:
        args = {} if sequence is None else {"Sequence number": sequence, "Fwd thread id": forward_thread}
        self.complete("cpu_op", name, thread, start, end, **args)

    def node(
        self, name: str, start: float, end: float, thread: int = AUTOGRAD, sequence: int | None = None
    ) -> None:
        """A backward node; torch's own number of the forward thread is 1."""
        self.op(f"autograd::engine::evaluate_function: {name}", start, end, thread, sequence, 1)

    def arrow(self, flow: int, forward: tuple[int, float], backward: tuple[int, float]) -> None:
        for phase, (thread, time) in (("s", forward), ("f", backward)):
            event = {"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "id": flow, "tid": thread}
            self.events.append(event | {"ts": TRACE_ORIGIN_US + time})

    def call(self, name: str, start: float, end: float, correlation: int, thread: int = MAIN) -> None:
        self.complete("cuda_runtime", name, thread, start, end, correlation=correlation)

    def work(
        self, name: str, start: float, end: float, correlation: int, size: int | None = None, stream: int = 7
    ) -> None:
        """GPU work; its category follows from the name."""
        category = {"Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}.get(name.split(" ")[0], "kernel")
        args: dict[str, Any] = {"device": 0, "stream": stream, "correlation": correlation}
        self.complete(category, name, stream, start, end, **args, **({} if size is None else {"bytes": size}))

    def kernel(
        self,
        launch: float,
        start: float,
        end: float,
        correlation: int,
        name: str = "kernel",
        thread: int = MAIN,
        stream: int = 7,
    ) -> None:
        """A launch of one microsecond and its kernel."""
        self.call("cudaLaunchKernel", launch, launch + 1, correlation, thread)
        self.work(name, start, end, correlation, stream=stream)

    def annotation(self, name: str, start: float, end: float, thread: int = MAIN) -> None:
        self.complete("user_annotation", name, thread, start, end)

    def text(self) -> str:
        return json.dumps({**self.header, "traceEvents": self.events})

    def parsed(self) -> Trace:
        return parse_trace(self.text())


@dataclass
class CaptureBuilder:
    """Writes a capture folder of one process with one source file and one window."""

    source: str
    trace: TraceBuilder = field(default_factory=TraceBuilder)
    path: str = f"{ROOT}/train.py"
    lines: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    """Thread to (time, line); line 0 means no user frame."""
    layers: list[dict[str, Any]] = field(default_factory=list)
    """LAYER records."""
    layer_calls: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    """Thread to (time, layer); layer 0 ends the innermost call."""
    steps: list[float] = field(default_factory=list)
    step: int = 0
    """The last step that was written."""
    window: tuple[float, float] = (0, 1000)
    window_steps: tuple[int, int] | None = None
    """The last steps that had ended at its ends; None where it holds all that is written with it."""
    compiled: list[tuple[Record, dict[str, Any]]] = field(default_factory=list)
    """What a raw file says of torch.compile."""
    process: dict[str, Any] = field(default_factory=lambda: {"rank": 0, "pid": 1, "torch": "2.13.0"})

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        RunManifest(["python", "train.py"], ROOT, ROOT, 0.0, "0.1.0", finished=1.0, exit_code=0).write(folder)
        writer = RawWriter(folder / raw_name(0, 1))
        self.write_head(writer)
        self.write_window(writer, folder)
        for record, value in self.compiled:
            writer.write_json(record, value)
        writer.write_json(Record.END, {"t_ns": host_ns(self.window[1]), "reason": "exit"})
        writer.close()
        return folder

    def write_head(self, writer: RawWriter) -> None:
        writer.write_json(Record.PROCESS, self.process)
        digest = SourceText(self.source, Path(self.path)).digest
        writer.write_source(1, self.path, digest, self.source)
        writer.write_json(Record.CODE, {"id": 1, "file": 1, "name": "<module>", "first_line": 1})

    def write_window(self, writer: RawWriter, folder: Path, number: int = 0) -> None:
        begin, end = self.window
        first, last = self.window_steps or (self.step, self.step + len(self.steps))
        opened = {"window": number, "t_ns": host_ns(begin), "step": first, "reason": "test", "start_us": 1.0}
        writer.write_json(Record.WINDOW_OPEN, opened)
        for thread, events in self.lines.items():
            flat = array("q")
            for time, line in events:
                flat.extend((host_ns(time), 1 if line else 0, line))
            writer.write_lines(thread, flat)
        for thread, calls in self.layer_calls.items():
            pairs = array("q", (each for time, layer in calls for each in (host_ns(time), layer)))
            writer.write_layer_calls(thread, pairs)
        for layer in self.layers:
            writer.write_json(Record.LAYER, layer)
        writer.write_steps(
            array("q", [each for pair in enumerate(map(host_ns, self.steps), self.step + 1) for each in pair])
        )
        name = trace_name(0, 1, number)
        self.write_trace(folder / name)
        self.step += len(self.steps)
        closed = {"window": number, "t_ns": host_ns(end), "step": last, "trace": name}
        markers = [[0, host_ns(begin - 3), host_ns(begin - 1)], [1, host_ns(end - 3), host_ns(end - 1)]]
        writer.write_json(
            Record.WINDOW_CLOSE, closed | {"main_thread": MAIN, "price": {}, "markers": markers}
        )

    def write_trace(self, path: Path) -> None:
        marked = TraceBuilder(list(self.trace.events), dict(self.trace.header))
        for index, edge in enumerate(self.window):
            marked.annotation(f"warplint.sync#{index}", edge - 2, edge - 1)
        path.write_text(marked.text(), encoding="utf-8")


def host_ns(time_us: float) -> int:
    """The ``perf_counter_ns`` of a time of the window."""
    return round((HOST_ORIGIN_US + time_us) * 1000)
