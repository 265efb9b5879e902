"""Reads the events of a trace file; of a long one both halves at once, the second in another process.

That begins where an event seems to begin. Whether one does is known when the first half has been read, which
must end there between two events. If it does not, all is read from the beginning.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from warplint.profile.kineto.columns import Columns
from warplint.profile.kineto.events import EventReader
from warplint.profile.kineto.stream import BETWEEN_EVENTS, TraceStream
from warplint.profile.kineto.trace import NONE, Damage, Trace, TraceError
from warplint.profile.kineto.unpacked import BLOCK_BYTES, file_blocks, is_packed, plain_blocks
from warplint.profile.second_process import SecondProcess, can_fork

LEAST_BYTES = 64 << 20
"""Of a shorter file the half takes under half a second, and little is gained."""


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a file, and the text round them."""

    trace: Trace
    before: bytes
    """Without the list's bracket; empty when the list is all there is."""
    after: bytes
    """From the list's closing bracket on; empty when that was not reached."""
    end: int
    """The byte, of the unpacked text, where that begins."""


def read_events(path: Path) -> Events:
    """Raises TraceError."""
    middle = _middle(path) if can_fork() and path.is_file() else None
    found = None if middle is None else _read_halves(path, *middle)
    return found or read_stream(TraceStream(file_blocks(path)))


def read_stream(stream: TraceStream, origin_us: int | None = None) -> Events:
    """Times count from ``origin_us``, or from an early event. Raises TraceError."""
    trace = Trace(origin_us or 0)
    reader, columns = EventReader(stream), Columns(trace, origin_us is not None)
    for piece in reader.pieces():
        for event, reason in columns.add(piece):
            reader.reject(event, reason)
    trace.events, trace.malformed = reader.events, reader.malformed
    trace.first_malformed, trace.cut = reader.first_malformed, reader.cut
    trace.other_categories = frozenset(columns.others)
    return Events(trace, stream.header, reader.tail, stream.offset)


def _middle(path: Path) -> tuple[int, int] | None:
    """Where an event seems to end and the next to begin. None in a file that is short, packed, or has none
    there."""
    half = path.stat().st_size // 2
    if half < LEAST_BYTES // 2 or is_packed(path):
        return None
    found = BETWEEN_EVENTS.search(next(plain_blocks(path, half, half + BLOCK_BYTES), b""))
    return None if found is None else (half + found.start() + 1, half + found.end())


def _read_halves(path: Path, end: int, begin: int) -> Events | None:
    """None when it turns out that the first half does not end with an event, or that the second cannot be
    read: where in the file is told by who reads all of it. Raises TraceError."""
    origin_us = _origin(TraceStream(file_blocks(path)))
    with SecondProcess[Any](lambda: _second_half(path, begin, origin_us)) as second:
        first = read_stream(TraceStream(plain_blocks(path, 0, end)), origin_us)
        if first.trace.cut is None or first.trace.cut.offset != end:
            return None
        made = second.made()
        try:
            found: Events = next(made)
        except TraceError:
            return None
        _append(first.trace, found.trace, made)
    return replace(found, trace=first.trace, before=first.before)


def _origin(stream: TraceStream) -> int | None:
    """What times count from, as the beginning of the file has it. None where no event has a time."""
    trace = Trace()
    columns = Columns(trace, begun=False)
    for piece in EventReader(stream).pieces():
        columns.add(piece)
        if columns.begun:
            return trace.origin_us
    return None


def _second_half(path: Path, begin: int, origin_us: int | None) -> Iterator[Events | array[int]]:
    """What was read without its columns, and each of these: all at once would take their room twice."""
    stream = TraceStream(chain((b"[",), plain_blocks(path, begin, None)), begin - 1)
    found = read_stream(stream, origin_us)
    columns = [column for table in found.trace.tables() for column in table.all_columns]
    yield replace(found, trace=found.trace.without_columns())
    yield from columns


def _append(trace: Trace, following: Trace, columns: Iterator[array[int]]) -> None:
    """Add what was read of the second half."""
    # NONE is the last of the numbers.
    numbers = [*map(trace.names.number, following.names.texts), NONE]
    before = len(trace.work)
    trace.operator_ids.update({before + work: each for work, each in following.operator_ids.items()})
    for table in trace.tables():
        named = table.name_columns
        for column, more in zip(table.all_columns, columns, strict=False):
            is_named = any(column is each for each in named)
            column.extend(array("i", map(numbers.__getitem__, more)) if is_named else more)
    trace.arrows.forward.update(following.arrows.forward)
    trace.arrows.backward.update(following.arrows.backward)
    trace.first_malformed = trace.first_malformed or _later(following.first_malformed, trace.events)
    trace.cut = _later(following.cut, trace.events)
    trace.events += following.events
    trace.malformed += following.malformed
    trace.other_categories |= following.other_categories


def _later(damage: Damage | None, events: int) -> Damage | None:
    """With so many events before it."""
    return None if damage is None else replace(damage, event=damage.event + events)
