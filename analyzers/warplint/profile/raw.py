"""Reads one captured process's raw file into memory: its sources, line timeline, steps and windows."""

from __future__ import annotations

import struct
import zlib
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warplint.capture.layout import (
    LayoutError,
    RawReader,
    RawSource,
    Record,
    parse_json,
    parse_lines,
    parse_source,
    parse_steps,
)


@dataclass(slots=True)
class RawWindow:
    """A capture window. ``close`` is WINDOW_CLOSE's JSON, or None when the process died inside the window."""

    number: int
    open_ns: int
    close: dict[str, Any] | None = None

    @property
    def close_ns(self) -> int | None:
        return None if self.close is None else int(self.close["t_ns"])


@dataclass(slots=True)
class RawProcess:
    """One process of a capture. All times are its ``perf_counter_ns``."""

    path: Path
    process: dict[str, Any] = field(default_factory=dict)
    """The PROCESS record."""
    code_files: dict[int, int] = field(default_factory=dict)
    """CODE id to the id of its source."""
    sources: dict[int, RawSource] = field(default_factory=dict)
    lines: dict[int, array[int]] = field(default_factory=dict)
    """Native thread id to flat (t_ns, code, line) triples."""
    step_ends_ns: list[int] = field(default_factory=list)
    windows: list[RawWindow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended: bool = False
    lost_bytes: int = 0


def read_process(path: Path) -> RawProcess:
    """Read a raw file. Raises LayoutError when it is foreign or a complete record lacks what it must hold."""
    try:
        reader = RawReader(path)
    except OSError as error:
        raise LayoutError(f"{path} cannot be read: {error.strerror or error}") from None
    process = RawProcess(path)
    record = None
    try:
        for record, payload in reader.records():
            _add(process, record, payload)
    except (KeyError, TypeError, ValueError, AttributeError, zlib.error, struct.error) as error:
        name = "first" if record is None else record.name
        raise LayoutError(f"{path} holds a damaged {name} record: {error!r}") from None
    process.lost_bytes = reader.lost_bytes
    return process


def _add(process: RawProcess, record: Record, payload: bytes) -> None:
    if record is Record.LINES:
        thread, events = parse_lines(payload)
        process.lines.setdefault(thread, array("q")).extend(events)
    elif record is Record.STEPS:
        process.step_ends_ns.extend(parse_steps(payload)[1::2])
    elif record is Record.SOURCE:
        source = parse_source(payload)
        process.sources[source.identifier] = source
    elif record in _FROM_JSON:
        _FROM_JSON[record](process, parse_json(payload))


def _add_process(process: RawProcess, value: dict[str, Any]) -> None:
    process.process = dict(value)


def _add_code(process: RawProcess, value: dict[str, Any]) -> None:
    process.code_files[int(value["id"])] = int(value["file"])


def _open_window(process: RawProcess, value: dict[str, Any]) -> None:
    process.windows.append(RawWindow(int(value["window"]), int(value["t_ns"])))


def _close_window(process: RawProcess, value: dict[str, Any]) -> None:
    for window in process.windows:
        if window.number == int(value["window"]) and window.close is None:
            window.close = {**value, "t_ns": int(value["t_ns"])}


def _add_note(process: RawProcess, value: dict[str, Any]) -> None:
    process.notes.append(str(value["text"]))


def _end(process: RawProcess, value: dict[str, Any]) -> None:
    process.ended = True


_FROM_JSON = {
    Record.PROCESS: _add_process,
    Record.CODE: _add_code,
    Record.WINDOW_OPEN: _open_window,
    Record.WINDOW_CLOSE: _close_window,
    Record.NOTE: _add_note,
    Record.END: _end,
}
