"""Times the lines that one fetch of a loader worker runs through, and tells computing from waiting.

Three clocks: wall time, the thread's CPU time, and how long it was ready to run while others had the cores.
What is left of a line's wall time was spent waiting: for a disk, a lock, another thread or process.

Between two fetches nothing is switched on. Lines are those of the user's code; where none is on the stack,
those of the packages that the dataset and the collate function come from.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter_ns
from types import CodeType, FrameType, FunctionType
from typing import Any, Protocol

from warplint.capture.lines.tool_ids import GivingWay, leave_tool, monitoring, take_tool
from warplint.capture.lines.user_code import UserCode
from warplint.capture.workers.functions import Surroundings, functions_of_interest

FIELDS = 5
"""An event is ``t_ns, cpu_ns, ready_ns, code, line``: from then on this line runs. ``cpu_ns`` is 0 where
neither it nor ``ready_ns`` was read."""
READ_AFTER_NS = 20_000
"""A line that took less has not waited for a disk or another process: its CPU time is its wall time, and two
readings, each dearer than an event, are saved."""
READINGS = 3
MAX_EVENTS = 20_000
"""Of one fetch, some 20 ms of following. What was seen until then stands for the rest of it."""
FIRST_EVENTS = 4_000
"""Of the first that is followed, when nothing is earned yet: a worker may live for a second only."""

SCHEDULE = "/proc/thread-self/schedstat"
"""Linux: nanoseconds on a core, nanoseconds ready without one, and how often it got one."""

RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class ReadyClock:
    """Nanoseconds that the thread which made it was ready to run without a core; 0 where nobody counts
    them."""

    def __init__(self) -> None:
        self._file: int | None = None
        with suppress(OSError):
            self._file = os.open(SCHEDULE, os.O_RDONLY)

    def read(self) -> int:
        if self._file is None:
            return 0
        try:
            return int(os.pread(self._file, 64, 0).split()[1])
        except (OSError, IndexError, ValueError):
            self._file = None
            return 0


class Stamps:
    """The events of one fetch, and which code objects they may name."""

    def __init__(self, user: UserCode, libraries: UserCode) -> None:
        self._user, self._libraries = user, libraries
        self.events: list[int] = []
        self.codes: dict[int, CodeType] = {}
        """Code objects followed so far, by ``id``."""
        self.ran: set[int] = set()
        """Those of them that a followed fetch came through."""
        self.own: set[int] = set()
        """Those of them that are the user's."""
        self.boundary: FrameType | None = None
        """Torch's worker loop: frames above it are none of the fetch's, and a forked worker has its
        parent's."""
        self._ready = ReadyClock()
        self._last_ns = 0
        self._limit = 0
        self.readings = 0
        """How often all three clocks were read for this fetch, which costs more than an event."""

    def begin(self, boundary: FrameType, most: int) -> None:
        """A fetch of which ``most`` events are wanted begins in the frame ``boundary``."""
        self.events.clear()
        self._limit = FIELDS * most
        self.readings = 0
        self.boundary = boundary
        self._last_ns = 0
        self.note(0, 0)

    def end(self) -> None:
        self.boundary = None
        self._last_ns = 0
        self.note(0, 0)

    def counts(self, code: CodeType) -> bool:
        """Whether the lines of ``code`` are of interest."""
        return self._user.holds(code) or self._libraries.holds(code)

    def learn(self, code: CodeType) -> None:
        """Have ``code`` named by events. It is held from then on, so that no id is used twice."""
        self.codes[id(code)] = code
        if self._user.holds(code):
            self.own.add(id(code))

    def note(self, code: int, line: int) -> None:
        now = perf_counter_ns()
        if now - self._last_ns > READ_AFTER_NS:
            now, cpu, ready = self.read(now)
            self.events.extend((now, cpu, ready, code, line))
        else:
            self.events.extend((now, 0, 0, code, line))
        self._last_ns = now

    def read(self, now: int) -> tuple[int, int, int]:
        """The three clocks at one moment: again, where the thread lost its core between the first and the
        last."""
        for _ in range(READINGS):
            self.readings += 1
            began, cpu, ready = now, time.thread_time_ns(), self._ready.read()
            now = perf_counter_ns()
            if now - began < READ_AFTER_NS:
                break
        return began, cpu, ready

    def note_frame(self, frame: FrameType | None) -> None:
        """Note the innermost line of the user's at or above ``frame``, else the innermost of a library's."""
        library = (0, 0)
        while frame is not None and frame is not self.boundary:
            code = id(frame.f_code)
            if code in self.own:
                self.note(code, frame.f_lineno or 0)
                return
            if not library[0] and code in self.codes:
                library = (code, frame.f_lineno or 0)
            frame = frame.f_back
        self.note(*library)

    def cut_short(self) -> None:
        """The rest of the fetch cannot be followed."""
        self._limit = 0

    @property
    def full(self) -> bool:
        """Whether what was seen is all that will be."""
        return len(self.events) >= self._limit


class FetchLines(Protocol):
    """Follows the calling thread between ``start`` and ``stop``."""

    passed: int
    """Calls of the last fetch that were looked at in vain, for about the price of an event."""

    def start(self, learn: bool) -> bool:
        """False when lines cannot be followed. ``learn``: look for code that was not met before."""

    def stop(self) -> None:
        """Off, with nothing held until the next start; may be called twice."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A copy of a function's code, which stands in its place while a fetch is followed."""

    function: FunctionType
    code: CodeType
    copy: CodeType

    def enter(self) -> None:
        if self.function.__code__ is self.code:
            self.function.__code__ = self.copy

    def leave(self) -> None:
        if self.function.__code__ is self.copy:
            self.function.__code__ = self.code


class MonitoredLines:
    """A ``FetchLines`` through ``sys.monitoring``.

    Code that ever had events stays slower when they are off: Python 3.12 joins pairs of instructions when it
    makes a code object, and never again (5 to 15% of a loop of plain Python). So it is copies that have
    events, and they stand in their functions only while a fetch is followed. Only generators, which last,
    have events themselves. The tool id is ours for as long, and is given up to a program that wants it.
    """

    passed = 0

    def __init__(self, stamps: Stamps, around: Surroundings) -> None:
        self._stamps, self._around = stamps, around
        self._tool: int | None = None
        self._known: set[int] = set()
        self._stand_ins: list[StandIn] = []
        self._generators: list[CodeType] = []
        self._active: list[StandIn] = []
        self._callbacks = self._make_callbacks()
        self._giving_way = GivingWay(self._taken)

    def start(self, learn: bool) -> bool:
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            return False
        if learn:
            self._learn()
        # Between two looks around, those that no fetch has come through are left alone.
        ran = None if learn else self._stamps.ran
        self._active = [each for each in self._stand_ins if ran is None or id(each.copy) in ran]
        self._tool = take_tool(self._followed)
        if self._tool is None:
            return False
        self._giving_way.install()
        for event, callback in self._callbacks.items():
            monitoring.register_callback(self._tool, event, callback)
        events = monitoring.events
        wanted = events.LINE | events.PY_RETURN | events.PY_YIELD | events.PY_RESUME
        for code in self._followed():
            monitoring.set_local_events(self._tool, code, wanted)
        for stand_in in self._active:
            stand_in.enter()
        return True

    def stop(self) -> None:
        tool, self._tool = self._tool, None
        if tool is None:
            return
        self._giving_way.remove()
        self._leave()
        leave_tool(tool, self._callbacks, self._followed())

    def _taken(self, tool: int) -> None:
        """The program has taken our id, which is clear of our events by now."""
        self._tool = None
        self._giving_way.remove()
        self._leave()
        self._stamps.cut_short()

    def _leave(self) -> None:
        for stand_in in self._active:
            stand_in.leave()

    def _followed(self) -> list[CodeType]:
        return [*(stand_in.copy for stand_in in self._active), *self._generators]

    def _learn(self) -> None:
        for function in functions_of_interest(self._around, self._stamps.counts):
            code = function.__code__
            if id(function) in self._known or id(code) in self._stamps.codes:
                continue
            self._known.add(id(function))
            if code.co_flags & RESUMABLE:
                self._stamps.learn(code)
                self._generators.append(code)
                continue
            stand_in = StandIn(function, code, code.replace())
            self._stamps.learn(stand_in.copy)
            self._stand_ins.append(stand_in)

    def _make_callbacks(self) -> dict[int, Callable[..., Any]]:
        if monitoring is None:
            return {}
        stamps, thread, ident, get_frame = (
            self._stamps,
            threading.get_ident(),
            threading.get_ident,
            sys._getframe,
        )

        def on_line(code: CodeType, line: int) -> None:
            if ident() != thread:
                return
            if stamps.full:
                self.stop()
            elif id(code) in stamps.own:
                stamps.note(id(code), line)
            else:
                stamps.note_frame(get_frame(1))

        def on_resume(code: CodeType, offset: int) -> None:
            if ident() == thread:
                stamps.note_frame(get_frame(1))

        def on_leave(code: CodeType, offset: int, value: object) -> None:
            if ident() == thread:
                stamps.note_frame(get_frame(1).f_back)

        events = monitoring.events
        return {
            events.PY_RESUME: on_resume,
            events.LINE: on_line,
            events.PY_RETURN: on_leave,
            events.PY_YIELD: on_leave,
        }


class TracedLines:
    """A ``FetchLines`` through ``sys.settrace`` (Python before 3.12), which every call of the fetch
    passes."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._on = False
        self.passed = 0

    def start(self, learn: bool) -> bool:
        if sys.gettrace() is not None:
            return False
        self._on = True
        self.passed = 0
        sys.settrace(self._on_call)
        return True

    def stop(self) -> None:
        if not self._on:
            return
        self._on = False
        # Someone else's trace function, set meanwhile, stays. A bound method is made anew each time.
        if sys.gettrace() == self._on_call:
            sys.settrace(None)

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if not self._on:
            sys.settrace(None)
            return None
        code = frame.f_code
        if id(code) not in self._stamps.codes:
            if not self._stamps.counts(code):
                self.passed += 1
                return None
            self._stamps.learn(code)
        if code.co_flags & RESUMABLE:
            # A generator goes on in the middle of a line, of which no line event tells.
            self._stamps.note_frame(frame)
        return self._on_event

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        stamps = self._stamps
        if not self._on:
            return None
        if stamps.full:
            self.stop()
            return None
        if event == "line":
            if id(frame.f_code) in stamps.own:
                stamps.note(id(frame.f_code), frame.f_lineno)
            else:
                stamps.note_frame(frame)
        elif event == "return":
            stamps.note_frame(frame.f_back)
        return self._on_event


def make_fetch_lines(stamps: Stamps, around: Surroundings) -> FetchLines:
    return MonitoredLines(stamps, around) if monitoring is not None else TracedLines(stamps)


@dataclass(slots=True)
class LineTime:
    """What a line took in one fetch."""

    wall_ns: int = 0
    cpu_ns: int = 0
    ready_ns: int = 0
    events: int = 0


def time_of_lines(events: list[int]) -> dict[tuple[int, int], LineTime]:
    """``(code, line)`` to its times, from the events of one fetch.

    Between two readings of the clocks every line but the last was short, and spent its wall time computing.
    """
    lines: dict[tuple[int, int], LineTime] = {}
    times, cpu, ready, codes, numbers = (events[field::FIELDS] for field in range(FIELDS))
    read, short_ns = 0, 0
    for index, (began, ended, place) in enumerate(
        zip(times, times[1:], zip(codes, numbers, strict=True), strict=False)
    ):
        wall = ended - began
        line = lines.get(place)
        if line is None:
            line = lines[place] = LineTime()
        line.events += 1
        line.wall_ns += wall
        if not cpu[index + 1]:
            short_ns += wall
            line.cpu_ns += wall
            continue
        on_core = min(wall, max(0, cpu[index + 1] - cpu[read] - short_ns))
        line.cpu_ns += on_core
        line.ready_ns += min(wall - on_core, ready[index + 1] - ready[read])
        read, short_ns = index + 1, 0
    return lines
