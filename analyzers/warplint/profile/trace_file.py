"""Reads a Kineto trace as a stream, so that what is held is a few numbers an event, and never the file.

Formats: kineto ``output_json.cpp``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from warplint.profile.trace import Trace, TraceError
from warplint.profile.trace_columns import Columns
from warplint.profile.trace_events import EventReader
from warplint.profile.trace_stream import TraceStream, file_blocks


def read_trace(path: Path) -> Trace:
    """Read a trace file, gzipped or not. Raises TraceError when it is no Kineto trace, or cut off."""
    trace = read_partial_trace(path)
    if trace.cut is not None:
        raise TraceError("it is cut off or damaged")
    return trace


def read_partial_trace(path: Path) -> Trace:
    """As ``read_trace``, but one that is cut off is read as far as it goes, and says so in ``Trace.cut``."""
    return _read(TraceStream(file_blocks(path)))


def read_header(path: Path) -> dict[str, Any]:
    """What a trace file says before its events. Raises TraceError."""
    return _header(TraceStream(file_blocks(path)).header, b"")


def parse_trace(text: str) -> Trace:
    """Parse a trace's text. Raises TraceError."""
    trace = _read(TraceStream(iter([text.encode("utf-8", "replace")])))
    if trace.cut is not None:
        raise TraceError("it is cut off or damaged")
    return trace


def _read(stream: TraceStream) -> Trace:
    trace = Trace()
    reader, columns = EventReader(stream), Columns(trace)
    for piece in reader.pieces():
        for reason in columns.add(piece):
            reader.reject(reason)
    trace.events, trace.malformed = reader.events, reader.malformed
    trace.first_malformed, trace.cut = reader.first_malformed, reader.cut
    trace.other_categories = frozenset(columns.others)
    _read_header(trace, stream.header, reader.tail)
    return trace


def _read_header(trace: Trace, before: bytes, after: bytes) -> None:
    trace.header = _header(before, after)
    try:
        trace.base_ns = int(trace.header.get("baseTimeNanoseconds", 0))
        for device in trace.header.get("deviceProperties", []):
            trace.devices[int(device["id"])] = str(device["name"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise TraceError("its header is damaged") from None


def _header(before: bytes, after: bytes) -> dict[str, Any]:
    """``after`` begins with the closing bracket of the list of events; empty where the trace does not get
    there."""
    text = before + b'"traceEvents": [' + (after or b"]}")
    try:
        header = json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        raise TraceError("its header is damaged") from None
    if not isinstance(header, dict):
        raise TraceError("its header is damaged")
    return header
