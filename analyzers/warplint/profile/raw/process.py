"""Reads one captured process's raw file into memory: its sources, line timeline, steps and windows."""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warplint.capture.layout import (
    LayoutError,
    RawReader,
    RawSource,
    Record,
    parse_json,
    parse_layer_calls,
    parse_lines,
    parse_source,
    parse_step_buckets,
    parse_steps,
)
from warplint.profile.raw.compiled import RawCompilation
from warplint.profile.raw.graphs import RawCudaGraph, replays_of_json
from warplint.profile.raw.layer import RawLayer
from warplint.profile.raw.steps import RawSteps

Readings = list[tuple[int, int, int]]
"""Triples of clock readings, as WINDOW_CLOSE holds them."""


@dataclass(frozen=True, slots=True)
class WindowClose:
    """What a WINDOW_CLOSE record says; what it leaves out is empty or None."""

    t_ns: int
    step: int
    """The last that had ended."""
    trace: str | None
    main_thread: int | None
    markers: Readings
    """``(name_index, before_ns, after_ns)``."""
    clock: Readings
    """``(perf_before_ns, unix_ns, perf_after_ns)``."""
    threads: dict[int, int]
    """Where the trace has ``pthread_t`` in place of native thread ids: from the one to the other."""
    price: dict[str, float]
    """Seconds."""
    lead_in: int = 1
    """Steps at its start that do not count."""

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> WindowClose:
        """Raises KeyError, TypeError or ValueError when it holds something else."""
        trace, main_thread = value.get("trace"), value.get("main_thread")
        return cls(
            t_ns=int(value["t_ns"]),
            step=int(value.get("step") or 0),
            trace=None if trace is None else str(trace),
            main_thread=None if main_thread is None else int(main_thread),
            markers=_readings(value.get("markers") or []),
            clock=_readings(value.get("clock") or []),
            threads={int(pthread): int(native) for pthread, native in value.get("threads") or []},
            price={str(part): float(seconds) for part, seconds in (value.get("price") or {}).items()},
            lead_in=int(value.get("lead_in", 1)),
        )


def _readings(triples: list[list[int]]) -> Readings:
    return [(int(first), int(second), int(third)) for first, second, third in triples]


@dataclass(slots=True)
class RawWindow:
    """A capture window. ``close`` is None when the process died inside it, or is in it still."""

    number: int
    open_ns: int
    """When everything was on, or later: when the last step began that was too short to count."""
    step: int = 0
    """The last that had ended."""
    step_kind: str = ""
    close: WindowClose | None = None
    lines: dict[int, array[int]] = field(default_factory=dict)
    """Native thread id to flat (t_ns, source, line) triples, not necessarily in order; source 0 is none."""
    layers: dict[int, RawLayer] = field(default_factory=dict)
    """By their number in ``layer_calls``, which has numbers that no record explains too."""
    layer_calls: dict[int, array[int]] = field(default_factory=dict)
    """Native thread id to flat (t_ns, layer) pairs in order; layer 0 ends the innermost call."""
    replays: list[tuple[int, int]] = field(default_factory=list)
    """(t_ns, number) of each CUDA graph that was replayed."""


@dataclass(slots=True)
class RawProcess:
    """One process of a capture. All times are its ``perf_counter_ns``."""

    path: Path
    process: dict[str, Any] = field(default_factory=dict)
    """The PROCESS record."""
    sources: dict[int, RawSource] = field(default_factory=dict)
    steps: RawSteps = field(default_factory=RawSteps)
    """Of the whole run."""
    windows: list[RawWindow] = field(default_factory=list)
    compilation: RawCompilation = field(default_factory=RawCompilation)
    graphs: list[RawCudaGraph] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    """Of the device, in all windows."""
    ended: bool = False
    lost_bytes: int = 0

    @property
    def step_ends_ns(self) -> list[int]:
        """When the steps ended that are kept one by one, in order."""
        return self.steps.ends_ns


def read_process(path: Path) -> RawProcess:
    """Read a raw file. Raises LayoutError when it is foreign or a complete record lacks what it must hold."""
    try:
        reader = RawReader(path)
    except OSError as error:
        raise LayoutError(f"{path} cannot be read: {error.strerror or error}") from None
    process = RawProcess(path)
    assembly = _Assembly(process)
    record = None
    try:
        for record, payload in reader.records():
            assembly.add(record, payload)
    except (KeyError, TypeError, ValueError, AttributeError, zlib.error, struct.error) as error:
        name = "first" if record is None else record.name
        raise LayoutError(f"{path} holds a damaged {name} record: {error!r}") from None
    process.lost_bytes = reader.lost_bytes
    return process


class _Assembly:
    """Puts one record after the other in its place."""

    def __init__(self, process: RawProcess) -> None:
        self._process = process
        # Ids of code are those of live objects: a later window may use one again for another file.
        self._code_sources: dict[int, int] = {}
        self._early: dict[int, array[int]] = {}
        self._from_json: dict[Record, Callable[[dict[str, Any]], None]] = {
            Record.PROCESS: self._add_process,
            Record.CODE: self._add_code,
            Record.WINDOW_OPEN: self._open_window,
            Record.WINDOW_CLOSE: self._close_window,
            Record.COMPILED_GRAPH: process.compilation.add_graph,
            Record.COMPILATION: process.compilation.set_events,
            Record.CUDA_GRAPH: self._add_graph,
            Record.CUDA_REPLAYS: self._add_replays,
            Record.NOTE: self._add_note,
            Record.LAYER: self._add_layer,
            Record.END: self._end,
        }

    def add(self, record: Record, payload: bytes) -> None:
        if record is Record.LINES:
            self._add_lines(*parse_lines(payload))
        elif record is Record.STEPS:
            self._process.steps.add_ends(parse_steps(payload))
        elif record is Record.STEP_BUCKETS:
            self._process.steps.add_buckets(parse_step_buckets(payload))
        elif record is Record.SOURCE:
            source = parse_source(payload)
            self._process.sources[source.identifier] = source
        elif record is Record.LAYER_CALLS:
            self._add_layer_calls(*parse_layer_calls(payload))
        elif record is Record.SAMPLES:
            self._process.samples.extend(dict(sample) for sample in parse_json(payload))
        elif record in self._from_json:
            self._from_json[record](parse_json(payload))

    def _add_lines(self, thread: int, events: array[int]) -> None:
        """Lines belong to the window opened last; those that come before its record, to the first."""
        events[1::3] = array("q", (self._code_sources.get(code, 0) for code in events[1::3]))
        windows = self._process.windows
        lines = windows[-1].lines if windows else self._early
        lines.setdefault(thread, array("q")).extend(events)

    def _add_layer_calls(self, thread: int, events: array[int]) -> None:
        if self._process.windows:
            self._process.windows[-1].layer_calls.setdefault(thread, array("q")).extend(events)

    def _add_layer(self, value: dict[str, Any]) -> None:
        if self._process.windows:
            self._process.windows[-1].layers[int(value["id"])] = RawLayer.of_json(value)

    def _add_process(self, value: dict[str, Any]) -> None:
        self._process.process = dict(value)

    def _add_code(self, value: dict[str, Any]) -> None:
        self._code_sources[int(value["id"])] = int(value["file"])

    def _open_window(self, value: dict[str, Any]) -> None:
        window = RawWindow(
            int(value["window"]),
            int(value["t_ns"]),
            step=int(value.get("step") or 0),
            step_kind=str(value.get("step_kind") or ""),
            lines=self._early,
        )
        self._early = {}
        self._process.windows.append(window)

    def _close_window(self, value: dict[str, Any]) -> None:
        for window in self._process.windows:
            if window.number == int(value["window"]) and window.close is None:
                window.close = WindowClose.of_json(value)
                window.open_ns = max(window.open_ns, int(value.get("counts_ns") or 0))

    def _add_graph(self, value: dict[str, Any]) -> None:
        windows = self._process.windows
        lines = windows[-1].lines if windows else self._early
        self._process.graphs.append(RawCudaGraph.of_json(value, lines))

    def _add_replays(self, value: dict[str, Any]) -> None:
        for window in self._process.windows:
            if window.number == int(value["window"]):
                window.replays.extend(replays_of_json(value))

    def _add_note(self, value: dict[str, Any]) -> None:
        self._process.notes.append(str(value["text"]))

    def _end(self, value: dict[str, Any]) -> None:
        self._process.ended = True
