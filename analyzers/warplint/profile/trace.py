"""Reads the Kineto trace of one window into columns of integers and a table of names.

The file is parsed event by event, so that memory is bounded by its text and not by a million dictionaries.
Times become nanoseconds since ``Trace.origin_us``, the file's own clock. Formats: kineto ``output_json.cpp``.
"""

from __future__ import annotations

import enum
import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NONE = -1
"""In an integer column: the event has no such value."""

_SPACE_OR_COMMA = re.compile(r"[\s,]*")
_EVENTS_KEY = '"traceEvents"'


class TraceError(Exception):
    """A trace file that cannot be read; the message says why in a phrase."""


class Names:
    """Interns names: each distinct text once, columns hold its number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


def _column() -> array[int]:
    return array("q")


@dataclass(slots=True)
class HostSpans:
    """Things a host thread was inside: operators, annotations, or runtime and driver calls."""

    name: array[int] = field(default_factory=_column)
    thread: array[int] = field(default_factory=_column)
    """Native thread id."""
    start: array[int] = field(default_factory=_column)
    end: array[int] = field(default_factory=_column)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def span_columns(self) -> tuple[array[int], ...]:
        return self.name, self.thread, self.start, self.end


@dataclass(slots=True)
class Operators(HostSpans):
    """``cpu_op`` records. ``sequence`` and ``forward_thread`` are NONE where absent; ``forward_thread`` is 0
    on forward operators and, on backward ones, torch's own number of the forward thread (not a native id)."""

    sequence: array[int] = field(default_factory=_column)
    forward_thread: array[int] = field(default_factory=_column)


@dataclass(slots=True)
class Calls(HostSpans):
    """``cuda_runtime`` and ``cuda_driver`` records."""

    correlation: array[int] = field(default_factory=_column)


class WorkKind(enum.IntEnum):
    """What the GPU did."""

    KERNEL = 0
    COPY = 1
    FILL = 2


@dataclass(slots=True)
class DeviceWork:
    """What ran on the GPU: kernels, copies and fills. ``correlation`` names the host call that started it."""

    kind: array[int] = field(default_factory=_column)
    name: array[int] = field(default_factory=_column)
    device: array[int] = field(default_factory=_column)
    start: array[int] = field(default_factory=_column)
    end: array[int] = field(default_factory=_column)
    correlation: array[int] = field(default_factory=_column)
    bytes: array[int] = field(default_factory=_column)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(slots=True)
class Arrows:
    """``fwdbwd`` flows by their id: (native thread, time) of the forward and of the backward operator."""

    forward: dict[int, tuple[int, int]] = field(default_factory=dict)
    backward: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """One window's trace. Times are nanoseconds since ``origin_us`` until ``Clock.apply`` maps them."""

    origin_us: int = 0
    base_ns: int = 0
    """Unix nanoseconds that the file's microseconds count from."""
    names: Names = field(default_factory=Names)
    operators: Operators = field(default_factory=Operators)
    calls: Calls = field(default_factory=Calls)
    work: DeviceWork = field(default_factory=DeviceWork)
    annotations: HostSpans = field(default_factory=HostSpans)
    arrows: Arrows = field(default_factory=Arrows)
    devices: dict[int, str] = field(default_factory=dict)
    """Device number to its name."""
    malformed: int = 0
    """Events that lacked what their category needs."""

    def text(self, number: int) -> str:
        return self.names.texts[number]


def read_trace(path: Path) -> Trace:
    """Read a trace file. Raises TraceError when it is no Kineto trace, or cut off."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TraceError(error.strerror or str(error)) from None
    return parse_trace(text)


def parse_trace(text: str) -> Trace:
    """Parse a trace's text. Raises TraceError."""
    key = text.find(_EVENTS_KEY)
    opening = text.find("[", key)
    if key < 0 or opening < 0:
        raise TraceError("it has no traceEvents")
    trace = Trace()
    closing = _read_events(trace, text, opening + 1)
    _read_header(trace, text[: opening + 1] + text[closing:])
    return trace


def _read_events(trace: Trace, text: str, position: int) -> int:
    """Add every event to ``trace``; returns where the list's closing bracket is."""
    decode = json.JSONDecoder(strict=False).raw_decode
    skip = _SPACE_OR_COMMA.match
    reader = _EventReader(trace)
    while True:
        position = skip(text, position).end()  # type: ignore[union-attr]
        if text.startswith("]", position):
            return position
        try:
            event, position = decode(text, position)
        except ValueError:
            raise TraceError("it is cut off or damaged") from None
        reader.add(event)


def _read_header(trace: Trace, text: str) -> None:
    try:
        header = json.loads(text, strict=False)
        trace.base_ns = int(header.get("baseTimeNanoseconds", 0))
        for device in header.get("deviceProperties", []):
            trace.devices[int(device["id"])] = str(device["name"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise TraceError("its header is damaged") from None


class _EventReader:
    """Sorts events into the trace's columns by category."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.started = False
        self.complete: dict[str, Callable[[dict[str, Any]], None]] = {
            "cpu_op": self.operator,
            "cuda_runtime": self.call,
            "cuda_driver": self.call,
            "kernel": lambda event: self.device_work(event, WorkKind.KERNEL),
            "gpu_memcpy": lambda event: self.device_work(event, WorkKind.COPY),
            "gpu_memset": lambda event: self.device_work(event, WorkKind.FILL),
            "user_annotation": self.annotation,
        }

    def add(self, event: Any) -> None:
        try:
            phase, category = event["ph"], event.get("cat")
            if phase == "X":
                handler = self.complete.get(category)
                if handler is not None:
                    handler(event)
            elif category == "fwdbwd":
                ends = self.trace.arrows.forward if phase == "s" else self.trace.arrows.backward
                ends[event["id"]] = (event["tid"], self.time(event["ts"]))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            self.trace.malformed += 1

    def time(self, ts_us: float) -> int:
        """Nanoseconds since the origin. Subtracting whole microseconds first keeps the last digits exact."""
        if not self.started:
            self.started = True
            self.trace.origin_us = int(ts_us)
        return round((ts_us - self.trace.origin_us) * 1000)

    def interval(self, event: dict[str, Any]) -> tuple[int, int]:
        start = self.time(event["ts"])
        return start, start + max(0, round(event["dur"] * 1000))

    def span(self, event: dict[str, Any]) -> tuple[int, int, int, int]:
        """Name, thread, start and end."""
        return self.trace.names.number(str(event["name"])), int(event["tid"]), *self.interval(event)

    def operator(self, event: dict[str, Any]) -> None:
        operators, args = self.trace.operators, event.get("args", {})
        numbers = int(args.get("Sequence number", NONE)), int(args.get("Fwd thread id", NONE))
        columns = (*operators.span_columns, operators.sequence, operators.forward_thread)
        _append(columns, (*self.span(event), *numbers))

    def call(self, event: dict[str, Any]) -> None:
        calls = self.trace.calls
        columns = (*calls.span_columns, calls.correlation)
        _append(columns, (*self.span(event), int(event["args"]["correlation"])))

    def annotation(self, event: dict[str, Any]) -> None:
        _append(self.trace.annotations.span_columns, self.span(event))

    def device_work(self, event: dict[str, Any], kind: WorkKind) -> None:
        work, args = self.trace.work, event["args"]
        numbers = int(args["correlation"]), int(args["device"]), int(args.get("bytes", 0))
        name = self.trace.names.number(str(event["name"]))
        columns = (work.kind, work.name, work.start, work.end, work.correlation, work.device, work.bytes)
        _append(columns, (kind, name, *self.interval(event), *numbers))


def _append(columns: Sequence[array[int]], row: Sequence[int]) -> None:
    """Append to every column, or to none. Raises OverflowError, TypeError."""
    for column, value in zip(columns, array("q", row), strict=True):
        column.append(value)


def spans_named(trace: Trace, spans: HostSpans, prefixes: tuple[str, ...]) -> Iterator[int]:
    """The indices of ``spans`` whose name starts with one of ``prefixes``."""
    wanted = {number for number, text in enumerate(trace.names.texts) if text.startswith(prefixes)}
    return (index for index, name in enumerate(spans.name) if name in wanted)
