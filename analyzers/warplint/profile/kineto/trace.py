"""A Kineto trace in columns of integers and a table of names; reader.py reads one.

Times are nanoseconds since ``Trace.origin_us``, the file's own clock.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

NONE = -1
"""In an integer column: the event has no such value."""


class TraceError(Exception):
    """A trace file that cannot be read; the message says why in a phrase."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Where a trace is damaged: the event's number from 1, and the byte of the unpacked text."""

    event: int
    offset: int
    reason: str


class Names:
    """Interns names: each distinct text once, columns hold its number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Raises TypeError when it is no text."""
        found = self._numbers.get(text)
        if found is None:
            if not isinstance(text, str):
                raise TypeError("it has no name")
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


def _column() -> array[int]:
    return array("q")


def _small_column() -> array[int]:
    """Of numbers that the reader itself gave out: half the room."""
    return array("i")


@dataclass(slots=True)
class HostSpans:
    """Things a host thread was inside: operators, annotations, or runtime and driver calls."""

    name: array[int] = field(default_factory=_small_column)
    thread: array[int] = field(default_factory=_column)
    """Native thread id."""
    start: array[int] = field(default_factory=_column)
    end: array[int] = field(default_factory=_column)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def span_columns(self) -> tuple[array[int], ...]:
        return self.name, self.thread, self.start, self.end

    @property
    def all_columns(self) -> tuple[array[int], ...]:
        return self.span_columns

    @property
    def name_columns(self) -> tuple[array[int], ...]:
        """Those that hold numbers of names."""
        return (self.name,)


@dataclass(slots=True)
class Operators(HostSpans):
    """``cpu_op`` records. ``sequence`` and ``forward_thread`` are NONE where absent; ``forward_thread`` is 0
    on forward operators and, on backward ones, torch's own number of the forward thread (not a native id)."""

    sequence: array[int] = field(default_factory=_column)
    forward_thread: array[int] = field(default_factory=_small_column)
    external: array[int] = field(default_factory=_column)
    """Number of the operator, by which GPU work without a correlation names it."""
    stack: array[int] = field(default_factory=_small_column)
    """Number of the text of its Python stack, which torch 1.8 to 1.10 stored with it; else NONE."""

    @property
    def all_columns(self) -> tuple[array[int], ...]:
        return (*self.span_columns, self.sequence, self.forward_thread, self.external, self.stack)

    @property
    def name_columns(self) -> tuple[array[int], ...]:
        return self.name, self.stack


@dataclass(slots=True)
class Calls(HostSpans):
    """``cuda_runtime`` and ``cuda_driver`` records. ``correlation`` is NONE where it is missing."""

    correlation: array[int] = field(default_factory=_column)

    @property
    def all_columns(self) -> tuple[array[int], ...]:
        return (*self.span_columns, self.correlation)


@dataclass(slots=True)
class Frames(HostSpans):
    """``python_function`` records of a trace with stacks: the calls that say where a user's code was."""

    called_from: array[int] = field(default_factory=_small_column)
    """Number of the text ``file:line`` of the call, where the trace says it; else NONE."""

    @property
    def all_columns(self) -> tuple[array[int], ...]:
        return (*self.span_columns, self.called_from)

    @property
    def name_columns(self) -> tuple[array[int], ...]:
        return self.name, self.called_from


class WorkKind(enum.IntEnum):
    """What the GPU did."""

    KERNEL = 0
    COPY = 1
    FILL = 2


@dataclass(slots=True)
class DeviceWork:
    """What ran on the GPU: kernels, copies and fills. ``correlation`` names the host call that started it;
    NONE where it is missing."""

    kind: array[int] = field(default_factory=_small_column)
    name: array[int] = field(default_factory=_small_column)
    device: array[int] = field(default_factory=_small_column)
    start: array[int] = field(default_factory=_column)
    end: array[int] = field(default_factory=_column)
    correlation: array[int] = field(default_factory=_column)
    bytes: array[int] = field(default_factory=_column)
    stream: array[int] = field(default_factory=_column)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def all_columns(self) -> tuple[array[int], ...]:
        named = self.kind, self.name, self.device
        return *named, self.start, self.end, self.correlation, self.bytes, self.stream

    @property
    def name_columns(self) -> tuple[array[int], ...]:
        return (self.name,)


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
    overheads: HostSpans = field(default_factory=HostSpans)
    """``overhead`` records: what CUDA and CUPTI did within a call besides the call, on no thread."""
    frames: Frames = field(default_factory=Frames)
    arrows: Arrows = field(default_factory=Arrows)
    devices: dict[int, str] = field(default_factory=dict)
    """Device number to its name."""
    operator_ids: dict[int, int] = field(default_factory=dict)
    """For GPU work without a correlation (index in ``work``): ``Operators.external`` of what launched it,
    or NONE."""
    header: dict[str, Any] = field(default_factory=dict)
    """What the file says beside its events."""
    header_damage: str = ""
    """What is wrong with that; empty when nothing is."""
    events: int = 0
    """How many the file has, of any category."""
    other_categories: frozenset[str] = frozenset()
    """Categories that none of the columns hold."""
    malformed: int = 0
    """Events that lacked what their category needs."""
    first_malformed: Damage | None = None
    cut: Damage | None = None
    """Where the file ends in the middle."""

    def host_spans(self) -> Iterator[tuple[str, HostSpans]]:
        """The columns of host spans, by the name of their field."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, HostSpans):
                yield each.name, value

    def tables(self) -> Iterator[HostSpans | DeviceWork]:
        """All that has columns."""
        yield from (spans for _, spans in self.host_spans())
        yield self.work

    def without_columns(self) -> Trace:
        """The same in all else."""
        return replace(
            self,
            operators=Operators(),
            calls=Calls(),
            work=DeviceWork(),
            annotations=HostSpans(),
            overheads=HostSpans(),
            frames=Frames(),
        )

    def text(self, number: int) -> str:
        return self.names.texts[number]


def spans_named(trace: Trace, spans: HostSpans, prefixes: tuple[str, ...]) -> Iterator[int]:
    """The indices of ``spans`` whose name starts with one of ``prefixes``."""
    wanted = {number for number, text in enumerate(trace.names.texts) if text.startswith(prefixes)}
    return (index for index, name in enumerate(spans.name) if name in wanted) if wanted else iter(())
