"""Reads a Kineto trace as a stream, so that what is held is a few numbers an event, and never the file.

Formats: kineto ``output_json.cpp``.
"""

from __future__ import annotations

import json
from pathlib import Path

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
    """``after`` begins with the closing bracket of the list of events; it is empty in a trace that is cut
    off."""
    text = before + (b'"traceEvents": [' + after if after else b'"traceEvents": []}')
    try:
        header = json.loads(text.decode("utf-8", "replace"), strict=False)
        trace.base_ns = int(header.get("baseTimeNanoseconds", 0))
        for device in header.get("deviceProperties", []):
            trace.devices[int(device["id"])] = str(device["name"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise TraceError("its header is damaged") from None
    trace.header = header
