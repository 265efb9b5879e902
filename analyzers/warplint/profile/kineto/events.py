"""Decodes pieces of a trace into events: fast by what is expected of them, else one by one, mending what it
can.

The fast way is msgspec with a type that names the few members we read: it checks and skips the rest of an
event without building it, and takes a whole piece in one call. A piece that is not what the type says, or
does not end where an event ends, goes the slow way, with the standard library; so does all of it where
msgspec is missing, as in the editor's bundle.

What Kineto has written and JSON has not: bare ``inf``, ``nan`` and ``N/A``, control characters, bytes that
are not UTF-8, single backslashes of Windows paths, a comma after the last event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from warplint.profile.kineto.stream import TraceStream
from warplint.profile.kineto.trace import NONE, Damage, TraceError

LONGEST_EVENT = 16 << 20
"""Bytes. Stacks and shapes make events of kilobytes; what has not ended by then never will."""

LARGEST = 1 << 62
"""Numbers beyond this are damage: times and ids fit, with room to add to them."""


class EventArgs(Protocol):
    """What we read of an event's ``args``; NONE and empty stand for what it lacks."""

    correlation: int
    device: int
    bytes: int
    sequence: int
    forward_thread: int
    external: int
    old_external: int
    stack: str
    called_from: str


class Event(Protocol):
    """What we read of an event. ``ts`` and ``dur`` are microseconds; None stands for what it lacks."""

    ph: str
    cat: str | None
    name: str | None
    pid: int | str | None
    tid: int | str | None
    ts: float | None
    dur: float | None
    id: int | str | None

    @property
    def args(self) -> EventArgs | None: ...


ARGUMENTS = {
    "correlation": "correlation",
    "device": "device",
    "bytes": "bytes",
    "sequence": "Sequence number",
    "forward_thread": "Fwd thread id",
    "external": "External id",
    "old_external": "external id",
    "stack": "Call stack",
    "called_from": "CallFrom",
}
"""Our names for what we read of ``args``, and Kineto's. ``external id`` and ``Call stack`` are of torch 1.8
to 1.10."""


@dataclass(slots=True)
class PlainArgs:
    """``EventArgs`` without msgspec."""

    correlation: int = NONE
    device: int = NONE
    bytes: int = 0
    sequence: int = NONE
    forward_thread: int = NONE
    external: int = NONE
    old_external: int = NONE
    stack: str = ""
    called_from: str = ""


@dataclass(slots=True)
class PlainEvent:
    """``Event`` without msgspec."""

    ph: str
    cat: str | None
    name: str | None
    pid: int | str | None
    tid: int | str | None
    ts: float | None
    dur: float | None
    id: int | str | None
    args: EventArgs | None


Decoder = Callable[[bytes], Sequence[Event] | None]


def decoders() -> tuple[Decoder, ...]:
    """What decodes a JSON list of events or answers None, the fastest first."""
    try:
        from warplint.profile.kineto import fast
    except ImportError:
        return (plain_decode,)
    return fast.decode, plain_decode


def plain_decode(piece: bytes) -> Sequence[Event] | None:
    """Lets control characters pass, and text that stands for a number."""
    try:
        return [plain_event(value) for value in json.loads(piece, strict=False)]
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


class EventReader:
    """The events of a stream, in pieces. What was wrong is known after the last."""

    def __init__(self, stream: TraceStream) -> None:
        self._stream = stream
        self._decoders = decoders()
        self.events = 0
        """How many were read, malformed ones among them."""
        self.malformed = 0
        self.first_malformed: Damage | None = None
        self.cut: Damage | None = None
        """Where the file ends in the middle."""
        self.tail = b""
        """The text from the list's closing bracket on."""
        self._piece: _Piece = _Piece([], 0, 0, b"")
        """The one given last."""

    def pieces(self) -> Iterator[Sequence[Event]]:
        """Raises TraceError."""
        going_on = True
        while going_on:
            self._stream.fill()
            piece = self._whole_piece()
            if piece is None:
                piece, going_on = self._single_events()
            self._piece = piece
            yield piece.events

    def reject(self, event: Event, reason: str) -> None:
        """Count an event of the piece given last as malformed."""
        self._reject(reason, None if self.first_malformed else self._piece.place(event))

    def _reject(self, reason: str, place: tuple[int, int] | None) -> None:
        """``place`` may be left out after the first."""
        self.malformed += 1
        if self.first_malformed is None and place is not None:
            self.first_malformed = Damage(*place, reason)

    def _whole_piece(self) -> _Piece | None:
        """All whole events of the buffer; None when they must be read one by one."""
        stream = self._stream
        gap = stream.last_gap()
        if gap is None:
            return None
        end, begin = gap
        # That this parses shows that the piece ends between two events, and not inside one.
        text = b"".join((b"[", memoryview(stream.buffer)[:end], b"]"))
        events = next(filter(None, (decode(text) for decode in self._decoders)), None)
        if events is None:
            return None
        piece = _Piece(events, self.events, stream.offset, text)
        self.events += len(events)
        stream.take(begin)
        return piece

    def _single_events(self) -> tuple[_Piece, bool]:
        """The buffer's events one by one, and whether more follow."""
        stream, position = self._stream, 0
        piece = _Piece([], self.events, stream.offset, b"")
        while True:
            position = _next_value(stream.buffer, position)
            if stream.buffer.startswith(b"]", position):
                stream.take(position)
                self.tail = stream.rest()
                return piece, False
            end = _end_of_value(stream.buffer, position)
            if end is None:
                stream.take(position)
                return piece, self._read_on()
            self.events += 1
            place = self.events, stream.offset + position
            try:
                piece.add(plain_event(_decoded(stream.buffer[position:end])), place)
            except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
                self._reject(str(error), place)
            position = end

    def _read_on(self) -> bool:
        """Whether there is more of the event that the buffer ends in."""
        stream = self._stream
        if len(stream.buffer) > LONGEST_EVENT:
            raise TraceError(f"event {self.events + 1:,}, at byte {stream.offset:,}, does not end")
        if stream.more():
            return True
        where = (
            "it ends in the middle of an event" if stream.buffer else "it ends before its list of events does"
        )
        self.cut = Damage(self.events + 1, stream.offset, stream.ended_by or where)
        return False


class _Piece:
    """Some events that follow each other, and where they stand in the trace."""

    def __init__(self, events: Sequence[Event], before: int, offset: int, text: bytes) -> None:
        """``before`` events come before them; ``text`` is theirs in brackets, and begins at ``offset``."""
        self.events = list(events)
        self._before, self._offset, self._text = before, offset, text
        self._places: list[tuple[int, int]] = []

    def add(self, event: Event, place: tuple[int, int]) -> None:
        self.events.append(event)
        self._places.append(place)

    def place(self, event: Event) -> tuple[int, int]:
        """Number and offset of one of them."""
        index = next(index for index, each in enumerate(self.events) if each is event)
        if self._places:
            return self._places[index]
        position = 1
        for _ in range(index):
            position = _end_of_value(self._text, _next_value(self._text, position)) or position
        return self._before + index + 1, self._offset + _next_value(self._text, position) - 1


def _next_value(text: bytes, position: int) -> int:
    return _BLANKS_AND_COMMAS.match(text, position).end()  # type: ignore[union-attr]


_BLANKS_AND_COMMAS = re.compile(rb"[\s,]*")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|["{}\[\]]', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")


def _end_of_value(text: bytes, position: int) -> int | None:
    """Where the value that begins there ends, told by its brackets alone; None when it does not."""
    if text[position : position + 1] not in (b"{", b"["):
        scalar = (
            _TOKEN.match(text, position) if text.startswith(b'"', position) else _SCALAR.match(text, position)
        )
        return None if scalar is None or scalar.end() == len(text) else scalar.end()
    depth = 0
    for token in _TOKEN.finditer(text, position):
        first = text[token.start()]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 0:
                return token.end()
        elif token.end() - token.start() == 1:
            return None
    return None


_REPAIRS = (
    # Numbers that C++ printed.
    (re.compile(r"(?<=[:,\[])(\s*)[-+]?(?:inf|nan|N/A)\b(?=\s*[,}\]])", re.IGNORECASE), r"\1null"),
    (re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})'), r"\\\\"),
    (re.compile(r",(\s*[}\]])"), r"\1"),
)
"""Tried on an event that is no JSON, and then only."""


def _decoded(raw: bytes) -> Any:
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text, strict=False)
    except ValueError:
        for pattern, replacement in _REPAIRS:
            text = pattern.sub(replacement, text)
        return json.loads(text, strict=False)


def plain_event(value: Any) -> PlainEvent:
    """An event from its parsed JSON. Raises TypeError, ValueError or OverflowError when it is none."""
    if not isinstance(value, dict):
        raise TypeError("it is no object")
    args = value.get("args")
    return PlainEvent(
        ph=str(value.get("ph", "")),
        cat=_text(value.get("cat")),
        name=_text(value.get("name")),
        pid=_label(value.get("pid")),
        tid=_label(value.get("tid")),
        ts=_microseconds(value.get("ts"), "ts"),
        dur=_microseconds(value.get("dur"), "dur"),
        id=_label(value.get("id")),
        args=_plain_args(args) if isinstance(args, dict) else None,
    )


def _plain_args(args: dict[str, Any]) -> PlainArgs:
    found = PlainArgs()
    for key, value in args.items():
        ours = _OURS.get(key)
        if ours is not None and value is not None:
            setattr(found, ours, str(value) if ours in _TEXTS else _whole(value))
    return found


_OURS = {theirs: ours for ours, theirs in ARGUMENTS.items()}
_TEXTS = frozenset({"stack", "called_from"})


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _label(value: Any) -> int | str | None:
    return value if isinstance(value, int | str) or value is None else str(value)


def _whole(value: Any) -> int:
    number = int(value)
    if abs(number) > LARGEST:
        raise OverflowError(f"{str(value)[:40]} is out of range")
    return number


def _microseconds(value: Any, name: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"its {name} is no number: {str(value)[:40]!r}") from None
    if not abs(number) < LARGEST / 1000:
        raise OverflowError(f"its {name} is out of range: {value}")
    return number
