"""Where each host thread was, told from a trace alone: lines, functions, or operators, whichever it knows.

The result has the form of a captured line timeline: for each thread (time, source, line) from which on it was
there. What traces tell, best first:

- stacks with each operator (torch 1.8 to 1.10): the line of the user's innermost frame, from its start;
- calls with the line that called (torch 2.14 on): the line, from the call's start;
- calls alone: the first line of the user's innermost function;
- none: the outermost operator with the annotation round it, which are named in place of a line;
- of the GPU alone: the kernel or copy that was launched, named.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from warplint.profile.kineto.calls import BACKWARD_NODE, DATA_LOADING, OPTIMIZER
from warplint.profile.kineto.code import UserCode
from warplint.profile.kineto.nesting import ThreadNesting, by_thread, outer_first, thread_nestings
from warplint.profile.kineto.stacks import PythonFrame, parse_call, parse_frame, parse_stack
from warplint.profile.kineto.trace import NONE, Trace

STEP = "ProfilerStep#"
"""The annotation that ``torch.profiler.profile.step`` ends and begins."""

SPEAKS_FOR_ITSELF = (DATA_LOADING, *OPTIMIZER)
"""Annotations of torch's own whose operators are nothing the user wrote."""

MOST_LABELS = 4096
"""Names of places: a program that annotates with a number each time would make one an event."""


class Detail(enum.Enum):
    """What the costs of an imported trace can stand on."""

    STACKS = enum.auto()
    CALLS = enum.auto()
    FUNCTIONS = enum.auto()
    OPERATORS = enum.auto()
    KERNELS = enum.auto()


def find_code(trace: Trace, roots: Sequence[Path]) -> tuple[Detail, UserCode]:
    """What the trace knows of the user's code. ``roots``: see ``UserCode.add_files``."""
    code = UserCode()
    stacks = _distinct(trace, trace.operators.stack)
    if stacks:
        code.add_files({frame for text in stacks for frame in parse_stack(text)}, roots)
        return (Detail.STACKS if code.files else _without_lines(trace)), code
    callers = {frame for text in _distinct(trace, trace.frames.called_from) if (frame := parse_call(text))}
    functions = {frame for text in _distinct(trace, trace.frames.name) if (frame := parse_frame(text))}
    code.add_files(functions, roots)
    if any(code.source(frame.file) for frame in callers):
        return Detail.CALLS, code
    return (Detail.FUNCTIONS if code.files else _without_lines(trace)), code


def _without_lines(trace: Trace) -> Detail:
    return Detail.OPERATORS if len(trace.operators) or len(trace.annotations) else Detail.KERNELS


def _distinct(trace: Trace, column: array[int]) -> list[str]:
    return [trace.text(number) for number in set(column) if number != NONE]


def host_lines(
    trace: Trace, detail: Detail, code: UserCode, operators: dict[int, ThreadNesting] | None = None
) -> dict[int, array[int]]:
    """Native thread to flat (t_ns, source, line) triples. ``operators`` are the trace's by thread, where
    they are known already."""
    if detail is Detail.STACKS:
        return _lines_of_stacks(trace, code)
    if detail is Detail.OPERATORS:
        return _named(trace, code, thread_nestings(trace.operators) if operators is None else operators)
    if detail is Detail.KERNELS:
        return _launched(trace, code)
    return _lines_of_calls(trace, code)


Position = tuple[int, int]
"""(source, line); source 0 is not the user's."""
_NOWHERE: Position = (0, 0)


class _Track:
    """One thread's positions; a position that does not change is not repeated."""

    def __init__(self) -> None:
        self.triples = array("q")
        self._now = _NOWHERE

    def move(self, time: int, position: Position) -> None:
        if position != self._now:
            self._now = position
            self.triples.extend((time, *position))


def _lines_of_stacks(trace: Trace, code: UserCode) -> dict[int, array[int]]:
    """An operator without a user's frame (autograd's own thread) says nothing of where the user was."""
    operators = trace.operators

    def position(number: int) -> Position | None:
        frames = parse_stack(trace.text(number)) if number != NONE else ()
        found = ((code.source(frame.file), frame.line) for frame in frames)
        return next((each for each in found if each[0]), None)

    positions = {number: position(number) for number in set(operators.stack)}
    told = (index for index, number in enumerate(operators.stack) if positions[number] is not None)
    lines: dict[int, array[int]] = {}
    for thread, members in by_thread(operators, told).items():
        track = _Track()
        for index in sorted(members, key=operators.start.__getitem__):
            track.move(operators.start[index], positions[operators.stack[index]] or _NOWHERE)
        lines[thread] = track.triples
    return lines


@dataclass(slots=True)
class _Open:
    """A call of the user's that has not returned, and where in it the thread is."""

    end: int
    position: Position


def _lines_of_calls(trace: Trace, code: UserCode) -> dict[int, array[int]]:
    frames = trace.frames
    own = _positions(trace, set(frames.name), parse_frame, code)
    callers = _positions(trace, set(frames.called_from), parse_call, code)
    lines: dict[int, array[int]] = {}
    for thread, members in by_thread(frames, range(len(frames))).items():
        track, opened = _Track(), list[_Open]()
        for index in outer_first(frames, members):
            start = frames.start[index]
            _close(track, opened, start)
            caller = callers[frames.called_from[index]]
            if caller[0] and opened and opened[-1].position[0] == caller[0]:
                opened[-1].position = caller
                track.move(start, caller)
            if own[frames.name[index]][0]:
                opened.append(_Open(frames.end[index], own[frames.name[index]]))
                track.move(start, opened[-1].position)
        _close(track, opened, None)
        lines[thread] = track.triples
    return lines


def _positions(
    trace: Trace, numbers: set[int], parse: Callable[[str], PythonFrame | None], code: UserCode
) -> dict[int, Position]:
    found: dict[int, Position] = {}
    for number in numbers:
        frame = None if number == NONE else parse(trace.text(number))
        found[number] = _NOWHERE if frame is None else (code.source(frame.file), frame.line)
    return found


def _close(track: _Track, opened: list[_Open], now: int | None) -> None:
    """Return from the calls that ended by ``now``; None: from all."""
    while opened and (now is None or opened[-1].end <= now):
        ended = opened.pop()
        track.move(ended.end, opened[-1].position if opened else _NOWHERE)


def _launched(trace: Trace, code: UserCode) -> dict[int, array[int]]:
    """From a call that launches something until the next, the thread is at what was launched."""
    calls, names = trace.calls, dict(zip(trace.work.correlation, trace.work.name, strict=True))
    launches = (index for index, correlation in enumerate(calls.correlation) if correlation in names)
    lines: dict[int, array[int]] = {}
    for thread, members in by_thread(calls, launches).items():
        track = _Track()
        for index in sorted(members, key=calls.start.__getitem__):
            name = trace.text(names[calls.correlation[index]])
            track.move(calls.start[index], (code.name(name), 1))
        lines[thread] = track.triples
    return lines


def _named(trace: Trace, code: UserCode, operators: dict[int, ThreadNesting]) -> dict[int, array[int]]:
    labels, threads = _Labels(trace, code), _spans_by_thread(trace, operators)
    return {thread: _named_track(spans, labels) for thread, spans in threads.items()}


def _named_track(spans: list[_Span], labels: _Labels) -> array[int]:
    track, now, inside = _Track(), _OUTSIDE, labels.inside
    opened: list[tuple[int, int]] = []
    for start, last, name in spans:
        while opened and opened[-1][0] <= start:
            end, now = opened.pop()
            track.move(end, labels.at(now))
        opened.append((-last, now))
        now = inside[now].get(name) or labels.enter(now, name)
        track.move(start, labels.at(now))
    while opened:
        end, now = opened.pop()
        track.move(end, labels.at(now))
    return track.triples


_Span = tuple[int, int, int]
"""Start, end times -1, and name: of an annotation below 0, its complement."""


def _spans_by_thread(trace: Trace, operators: dict[int, ThreadNesting]) -> dict[int, list[_Span]]:
    """Annotations, and the operators that lie in no other; by start, the longest first."""
    found: dict[int, list[_Span]] = {}
    annotations, names = trace.annotations, trace.operators.name
    for thread, members in by_thread(annotations, range(len(annotations))).items():
        found[thread] = [
            (annotations.start[index], -annotations.end[index], ~annotations.name[index]) for index in members
        ]
    for thread, nesting in operators.items():
        spans, until = found.setdefault(thread, []), None
        for index, start, end in zip(nesting.spans, nesting.starts, nesting.ends, strict=True):
            if until is None or start >= until:
                until = end
                spans.append((start, -end, names[index]))
    # Of spans that are the same the annotation was first.
    return {thread: sorted(spans, key=itemgetter(0, 1)) for thread, spans in found.items()}


_OUTSIDE = 0


class _Labels:
    """Names the place of spans that lie in each other, outermost first. Each such stack has a number."""

    def __init__(self, trace: Trace, code: UserCode) -> None:
        self._trace, self._code = trace, code
        self.inside: list[dict[int, int]] = [{}]
        """By stack: the stack that a span of a name makes of it."""
        self._names: list[tuple[int, ...]] = [()]
        self._positions: dict[int, Position] = {}

    def enter(self, stack: int, name: int) -> int:
        """The stack with one more span in it."""
        number = self.inside[stack][name] = len(self.inside)
        self.inside.append({})
        self._names.append((*self._names[stack], name))
        return number

    def at(self, stack: int) -> Position:
        found = self._positions.get(stack)
        if found is None:
            label = self._label(self._names[stack])
            found = self._positions[stack] = (self._code.name(label), 1) if label else _NOWHERE
        return found

    def _label(self, names: Sequence[int]) -> str:
        around: list[str] = []
        operator = ""
        for number in names:
            name = self._trace.text(number if number >= 0 else ~number)
            if number >= 0:
                operator = "" if name.startswith(BACKWARD_NODE) else name
                break
            if name.startswith(SPEAKS_FOR_ITSELF):
                return name
            around.append(name)
        own = [name for name in around if not name.startswith(STEP)]
        if operator:
            return f"{own[-1]} > {operator}" if own and len(self._positions) < MOST_LABELS else operator
        return own[-1] if own else (STEP.rstrip("#") if around else "")
