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
from types import CodeType, FrameType
from typing import Any, Protocol

from warplint.capture.tool_ids import monitoring, release_tool, take_tool
from warplint.capture.user_code import UserCode

FIELDS = 5
"""An event is ``t_ns, cpu_ns, ready_ns, code, line``: from then on this line runs. ``cpu_ns`` is 0 where
neither it nor ``ready_ns`` was read."""
READ_AFTER_NS = 20_000
"""A line that took less has not waited for a disk or another process: its CPU time is its wall time, and two
readings, each dearer than an event, are saved."""
MAX_EVENTS = 20_000
"""Of one fetch, some 20 ms of following. What was seen until then stands for the rest of it."""

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
        self.own: set[int] = set()
        """Those of them that are the user's."""
        self.boundary: FrameType | None = None
        """Torch's worker loop: frames above it are none of the fetch's, and a forked worker has its
        parent's."""
        self._ready = ReadyClock()
        self._last_ns = 0

    def begin(self, boundary: FrameType) -> None:
        self.events.clear()
        self.boundary = boundary
        self._last_ns = 0
        self.note(0, 0)

    def end(self) -> None:
        self.boundary = None
        self._last_ns = 0
        self.note(0, 0)

    def follows(self, code: CodeType) -> bool:
        """Whether the lines of ``code`` count; it is held from then on, so that no id is used twice."""
        if id(code) in self.codes:
            return True
        mine = self._user.holds(code)
        if not mine and not self._libraries.holds(code):
            return False
        self.codes[id(code)] = code
        if mine:
            self.own.add(id(code))
        return True

    def note(self, code: int, line: int) -> None:
        now = perf_counter_ns()
        if now - self._last_ns > READ_AFTER_NS:
            self.events.extend((now, time.thread_time_ns(), self._ready.read(), code, line))
        else:
            self.events.extend((now, 0, 0, code, line))
        self._last_ns = now

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

    @property
    def full(self) -> bool:
        return len(self.events) >= FIELDS * MAX_EVENTS


class FetchLines(Protocol):
    """Follows the calling thread between ``start`` and ``stop``."""

    passed: int
    """Calls of the last fetch that were looked at in vain, for about the price of an event."""

    def start(self, learn: bool) -> bool:
        """False when lines cannot be followed. ``learn``: look for code that was not met before."""

    def stop(self) -> None:
        """Off; may be called twice."""

    def close(self) -> None:
        """Give back what was held between fetches."""


class MonitoredLines:
    """A ``FetchLines`` through ``sys.monitoring``. Known code is switched on alone; the rest keeps its
    speed."""

    passed = 0

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._tool: int | None = None
        self._on = False
        self._learning = False

    def start(self, learn: bool) -> bool:
        if self._tool is None and not self._open():
            return False
        self._on, self._learning = True, learn
        for code in self._stamps.codes.values():
            self._switch(code, self._local_events())
        if learn:
            monitoring.set_events(self._tool, monitoring.events.PY_START | monitoring.events.PY_RESUME)
        return True

    def stop(self) -> None:
        if not self._on:
            return
        self._on = False
        if self._learning:
            monitoring.set_events(self._tool, 0)
        for code in self._stamps.codes.values():
            self._switch(code, 0)

    def close(self) -> None:
        self.stop()
        tool, self._tool = self._tool, None
        if tool is not None:
            release_tool(tool)

    def _open(self) -> bool:
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            return False
        tool = self._tool = take_tool()
        if tool is None:
            return False
        # Whoever held the id before may have left code switched off.
        monitoring.restart_events()
        for event, callback in self._callbacks().items():
            monitoring.register_callback(tool, event, callback)
        return True

    def _switch(self, code: CodeType, events: int) -> None:
        monitoring.set_local_events(self._tool, code, events)

    @staticmethod
    def _local_events() -> int:
        events = monitoring.events
        return int(events.LINE | events.PY_RETURN | events.PY_YIELD | events.PY_RESUME)

    def _callbacks(self) -> dict[int, Callable[..., Any]]:
        stamps, thread, ident = self._stamps, threading.get_ident(), threading.get_ident
        get_frame, disable = sys._getframe, monitoring.DISABLE

        def on_start(code: CodeType, offset: int) -> object:
            if id(code) not in stamps.codes and stamps.follows(code) and self._on:
                self._switch(code, self._local_events())
            return disable

        def on_resume(code: CodeType, offset: int) -> object:
            if not stamps.follows(code):
                return disable
            if self._on and ident() == thread:
                self._switch(code, self._local_events())
                stamps.note_frame(get_frame(1))
            return None

        def on_line(code: CodeType, line: int) -> None:
            if not self._on or ident() != thread:
                return
            if stamps.full:
                self.stop()
            elif id(code) in stamps.own:
                stamps.note(id(code), line)
            else:
                stamps.note_frame(get_frame(1))

        def on_leave(code: CodeType, offset: int, value: object) -> None:
            if self._on and ident() == thread:
                stamps.note_frame(get_frame(1).f_back)

        events = monitoring.events
        return {
            events.PY_START: on_start,
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

    def close(self) -> None:
        self.stop()

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if not self._on:
            sys.settrace(None)
            return None
        code = frame.f_code
        if not self._stamps.follows(code):
            self.passed += 1
            return None
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


def make_fetch_lines(stamps: Stamps) -> FetchLines:
    return MonitoredLines(stamps) if monitoring is not None else TracedLines(stamps)


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
    for index in range(len(times) - 1):
        wall = times[index + 1] - times[index]
        on_core, without = wall, 0
        if cpu[index + 1]:
            on_core = min(wall, max(0, cpu[index + 1] - cpu[read] - short_ns))
            without = min(wall - on_core, ready[index + 1] - ready[read])
            read, short_ns = index + 1, 0
        else:
            short_ns += wall
        line = lines.setdefault((codes[index], numbers[index]), LineTime())
        line.wall_ns += wall
        line.cpu_ns += on_core
        line.ready_ns += without
        line.events += 1
    return lines
