"""Sorts the events of a trace into columns, a piece of the file at a time.

A table names the categories, of the Kineto of torch 1.8 to today; what no family wants (flows between host
and GPU, annotations repeated on the GPU, memory events) costs one look-up. Each piece becomes whole rows or
none: a piece with an event that does not fit goes in event by event, and those that do not are counted.
"""

from __future__ import annotations

import enum
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import floor

from warplint.profile.kineto.events import Event, EventArgs, PlainArgs
from warplint.profile.kineto.stacks import is_library, parse_call, parse_frame
from warplint.profile.kineto.trace import NONE, Trace, WorkKind


class Family(enum.Enum):
    """What an event tells of."""

    OPERATOR = enum.auto()
    ANNOTATION = enum.auto()
    OVERHEAD = enum.auto()
    CALL = enum.auto()
    KERNEL = enum.auto()
    COPY = enum.auto()
    FILL = enum.auto()
    FRAME = enum.auto()
    ARROW = enum.auto()


CATEGORIES: dict[str, Family] = {
    **dict.fromkeys(("cpu_op", "Operator"), Family.OPERATOR),
    "user_annotation": Family.ANNOTATION,
    "overhead": Family.OVERHEAD,
    **dict.fromkeys(("cuda_runtime", "cuda_driver", "Runtime", "hip_runtime"), Family.CALL),
    **dict.fromkeys(("kernel", "Kernel"), Family.KERNEL),
    **dict.fromkeys(("gpu_memcpy", "Memcpy"), Family.COPY),
    **dict.fromkeys(("gpu_memset", "Memset"), Family.FILL),
    "python_function": Family.FRAME,
    **dict.fromkeys(("fwdbwd", "forward_backward"), Family.ARROW),
}
"""Kineto's name of a category (``cat``) to what it holds. The capitals are of torch 1.8 to 1.10."""

ANNOTATIONS = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#", "DistributedDataParallel.", "nccl:")
"""How the names begin that torch 1.8 to 1.10 wrote among the operators."""

_WORK_KINDS = {Family.KERNEL: WorkKind.KERNEL, Family.COPY: WorkKind.COPY, Family.FILL: WorkKind.FILL}
_NO_ARGS = PlainArgs()

Rejected = tuple[Event, str]
"""An event that does not fit, and why."""


class Columns:
    """Fills a trace."""

    def __init__(self, trace: Trace, begun: bool) -> None:
        self._trace = trace
        self._numbers = trace.names.number
        self.begun = begun
        """Whether the trace has what times count from; else an early event says it."""
        self.others: set[str] = set()
        """Categories that no family has."""
        self._add: dict[Family, Callable[[list[Event]], None]] = {
            Family.OPERATOR: self._operators,
            Family.ANNOTATION: self._annotations,
            Family.OVERHEAD: self._overheads,
            Family.CALL: self._calls,
            Family.FRAME: self._frames,
            Family.ARROW: self._arrows,
        }

    def add(self, events: Sequence[Event]) -> list[Rejected]:
        """Take in a piece; returns the events that were malformed."""
        sorted_out: dict[str | None, list[Event]] = defaultdict(list)
        for event in events:
            sorted_out[event.cat].append(event)
        rejected: list[Rejected] = []
        for category, members in sorted_out.items():
            family = None if category is None else CATEGORIES.get(category)
            if family is not None:
                rejected += self._add_members(family, members)
            elif category is not None:
                self.others.add(category)
        return rejected

    def _add_members(self, family: Family, members: list[Event]) -> list[Rejected]:
        if family is not Family.ARROW:
            members = [event for event in members if event.ph == "X"]
        if not self.begun:
            self._begin(members)
        if family is Family.OPERATOR:
            named = {name for name in {event.name for event in members} if _is_annotation(name)}
            if named:
                annotations = [event for event in members if event.name in named]
                members = [event for event in members if event.name not in named]
                return self._take(Family.ANNOTATION, annotations) + self._take(family, members)
        return self._take(family, members)

    def _take(self, family: Family, members: list[Event]) -> list[Rejected]:
        try:
            self._add_rows(family, members)
        except (TypeError, ValueError, OverflowError) as error:
            if len(members) == 1:
                return [(members[0], _lacks(members[0]) or str(error))]
            return [rejected for event in members for rejected in self._take(family, [event])]
        return []

    def _begin(self, members: list[Event]) -> None:
        """Times count from an early event: the middle of these, since the first may be of another clock."""
        times = sorted(event.ts for event in members if event.ts is not None)
        if times:
            self._trace.origin_us, self.begun = int(times[len(times) // 2]), True

    def _add_rows(self, family: Family, members: list[Event]) -> None:
        if family in _WORK_KINDS:
            self._work(members, _WORK_KINDS[family])
        else:
            self._add[family](members)

    def _times(self, events: list[Event]) -> tuple[list[int], list[int]]:
        """Starts and ends in ns. Subtracting whole microseconds first keeps the last digits exact."""
        origin = float(self._trace.origin_us)
        # floor is thrice as fast as round.
        starts = [floor((event.ts - origin) * 1000.0 + 0.5) for event in events]  # type: ignore[operator]
        lengths = [event.dur for event in events]
        ends = [
            start + floor(length * 1000.0 + 0.5) if length > 0.0 else start  # type: ignore[operator]
            for start, length in zip(starts, lengths, strict=True)
        ]
        return starts, ends

    def _names(self, events: list[Event]) -> list[int]:
        names = [event.name for event in events]
        numbers = {name: self._numbers(name) for name in dict.fromkeys(names)}  # type: ignore[arg-type]
        return [numbers[name] for name in names]

    def _span_rows(self, events: list[Event]) -> tuple[list[int], list[int], list[int], list[int]]:
        """Name, thread, start and end."""
        starts, ends = self._times(events)
        rows = [event.tid for event in events]
        threads = {row: int(row) for row in dict.fromkeys(rows)}  # type: ignore[arg-type]
        return self._names(events), [threads[row] for row in rows], starts, ends

    def _operators(self, events: list[Event]) -> None:
        operators = self._trace.operators
        args = _args(events)
        rows = (
            *self._span_rows(events),
            [each.sequence for each in args],
            [each.forward_thread for each in args],
            [each.external for each in args],
            self._texts([each.stack for each in args]),
        )
        _extend(operators.all_columns, rows)

    def _texts(self, texts: list[str]) -> list[int]:
        """Numbers of texts, NONE for the empty one."""
        numbers = {text: self._numbers(text) if text else NONE for text in dict.fromkeys(texts)}
        return [numbers[text] for text in texts]

    def _annotations(self, events: list[Event]) -> None:
        _extend(self._trace.annotations.span_columns, self._span_rows(events))

    def _overheads(self, events: list[Event]) -> None:
        _extend(self._trace.overheads.span_columns, self._span_rows(events))

    def _calls(self, events: list[Event]) -> None:
        calls = self._trace.calls
        _extend(calls.all_columns, (*self._span_rows(events), [each.correlation for each in _args(events)]))

    def _frames(self, events: list[Event]) -> None:
        """Only calls of the user's code, or from it: most frames are torch's own."""
        events = [event for event in events if _is_users(event)]
        callers = self._texts([each.called_from for each in _args(events)])
        _extend(self._trace.frames.all_columns, (*self._span_rows(events), callers))

    def _work(self, events: list[Event], kind: WorkKind) -> None:
        work, args = self._trace.work, _args(events)
        starts, ends = self._times(events)
        rows = (
            [int(kind)] * len(events),
            self._names(events),
            [_device(each, event) for each, event in zip(args, events, strict=True)],
            starts,
            ends,
            # CUPTI counts from 1.
            [each.correlation or NONE for each in args],
            [each.bytes for each in args],
            [_stream(event.tid) for event in events],
        )
        first = len(work)
        _extend(work.all_columns, rows)
        for index, each in enumerate(args, first):
            if not each.correlation or each.correlation == NONE:
                external = each.external if each.external != NONE else each.old_external
                self._trace.operator_ids[index] = external

    def _arrows(self, events: list[Event]) -> None:
        arrows, origin = self._trace.arrows, self._trace.origin_us
        rows = [
            (event.ph, int(event.id), int(event.tid), round((event.ts - origin) * 1000))  # type: ignore[arg-type,operator]
            for event in events
        ]
        for phase, flow, thread, time in rows:
            (arrows.forward if phase == "s" else arrows.backward)[flow] = (thread, time)


def _is_annotation(name: str | None) -> bool:
    return name is not None and name.startswith(ANNOTATIONS)


def _is_users(event: Event) -> bool:
    """True as well for what lacks a name, which is then counted as malformed."""
    if event.name is None:
        return True
    caller = event.args.called_from if event.args is not None else ""
    return _is_users_frame(event.name) or (caller != "" and _is_users_call(caller))


@lru_cache(1 << 16)
def _is_users_frame(text: str) -> bool:
    frame = parse_frame(text)
    return frame is not None and not is_library(frame.file)


@lru_cache(1 << 16)
def _is_users_call(text: str) -> bool:
    frame = parse_call(text)
    return frame is not None and not is_library(frame.file)


def _lacks(event: Event) -> str | None:
    missing = [key for key in ("name", "ts", "dur", "tid") if getattr(event, key) is None]
    return f"it has no {missing[0]}" if missing else None


def _extend(columns: Sequence[array[int]], rows: Sequence[list[int]]) -> None:
    """Append to every column, or to none. Raises OverflowError, TypeError."""
    made = [array(column.typecode, row) for column, row in zip(columns, rows, strict=True)]
    for column, row in zip(columns, made, strict=True):
        column.extend(row)


def _args(events: list[Event]) -> list[EventArgs]:
    return [event.args or _NO_ARGS for event in events]


def _stream(row: int | str | None) -> int:
    """GPU work is on its stream's row: 7, or in traces of torch 1.8 ``stream 7``."""
    if isinstance(row, int):
        return row
    number = str(row).rpartition(" ")[2]
    return int(number) if number.isdecimal() else 0


def _device(args: EventArgs, event: Event) -> int:
    """Kernels are on their GPU's row, whose process id is its number."""
    return args.device if args.device != NONE else int(event.pid)  # type: ignore[arg-type]
