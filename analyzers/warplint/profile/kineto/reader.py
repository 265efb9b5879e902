"""Reads a Kineto trace as a stream, so that what is held is a few numbers an event, and never the file.

Formats: kineto ``output_json.cpp``.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from warplint.profile.kineto.halves import Events, read_events, read_stream
from warplint.profile.kineto.stream import TraceStream
from warplint.profile.kineto.trace import Trace, TraceError
from warplint.profile.kineto.unpacked import CutOff, file_blocks


def read_trace(path: Path) -> Trace:
    """Read a trace file, gzipped or not. Raises TraceError when it is no Kineto trace, or cut off or
    damaged."""
    return _whole(_with_header(read_stream(TraceStream(file_blocks(path)))))


def read_partial_trace(path: Path) -> Trace:
    """As ``read_trace``, but one that is cut off is read as far as it goes, and ``Trace`` says so. A long one
    is read in two processes, where that can be."""
    return _with_header(read_events(path))


def read_header(path: Path) -> dict[str, Any]:
    """What a trace file says before its events; nothing when that is damaged. Raises TraceError."""
    try:
        return _header(TraceStream(file_blocks(path)).header, b"")
    except ValueError:
        return {}


def line_of(path: Path, offset: int) -> int:
    """The line, from 1, of a byte of the unpacked text. Raises TraceError."""
    line, left = 1, offset
    with suppress(CutOff):
        for block in file_blocks(path):
            line += block.count(b"\n", 0, left)
            left -= len(block)
            if left <= 0:
                break
    return line


def _whole(trace: Trace) -> Trace:
    if trace.cut is not None:
        raise TraceError("it is cut off or damaged")
    if trace.header_damage:
        raise TraceError(trace.header_damage)
    return trace


def _with_header(events: Events) -> Trace:
    trace = events.trace
    try:
        _read_header(events)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        trace.header_damage = f"its header is damaged: {error}"
    return trace


def _read_header(events: Events) -> None:
    trace = events.trace
    try:
        trace.header = _header(events.before, events.after)
    except ValueError as error:
        # What stands before the events is known in any case.
        trace.header = _header(events.before, b"")
        trace.header_damage = f"{_damage_after_events(events.end, events.after, error)}; all events are there"
    trace.base_ns = int(trace.header.get("baseTimeNanoseconds", 0))
    for device in trace.header.get("deviceProperties", []):
        trace.devices[int(device["id"])] = str(device["name"])


def _damage_after_events(offset: int, after: bytes, error: ValueError) -> str:
    """What is wrong with text that begins at ``offset``."""
    if after.rstrip().endswith(b"}"):
        return f"what follows its list of events, at byte {offset:,}, is damaged: {error}"
    return f"the trace is not whole: it ends at byte {offset + len(after):,}, after its list of events"


def _header(before: bytes, after: bytes) -> dict[str, Any]:
    """``after`` begins with the bracket that closes the list of events; empty where there is none.

    Raises ValueError.
    """
    if not before:
        return {}
    text = before + b'"traceEvents": [' + (after or b"]}")
    try:
        header = json.loads(text.decode("utf-8", "replace"), strict=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("it is no object")
    return header
