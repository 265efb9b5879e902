"""The line timeline through ``sys.settrace`` (Python before 3.12).

Only frames of the user's get a local trace function. Setting any trace function slows every Python call a
little, so it stands for the length of a window and no longer.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

from warplint.capture.lines.buffers import Buffers
from warplint.capture.lines.hot_lines import HotLines
from warplint.capture.lines.timeline import Unavailable, seed, user_stacks
from warplint.capture.lines.user_code import UserCode

RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

PASSES = 2
"""A function is followed to its end so often before its lines may be muted: one may call an operator."""

TraceFunction = Callable[[FrameType, str, Any], Any]


class SettraceTimeline:
    """A ``timeline.Timeline`` for the thread that starts it and threads that begin within the window."""

    def __init__(self, buffers: Buffers, user_code: UserCode) -> None:
        self._buffers = buffers
        self._user_code = user_code
        self._thread = 0
        self._traced: list[FrameType] = []
        self._trace: TraceFunction | None = None
        self._trace_frame: TraceFunction | None = None
        self._hot = HotLines()
        self._passes: dict[int, int] = {}
        """How many frames of each code object were followed to their end."""
        self._told = False
        """Whether it was told that another tool traces the program. Lines come back when that ends."""
        self._pending: tuple[Callable[[], None], int, set[int]] | None = None
        self.watched: tuple[CodeType, Callable[[FrameType], TraceFunction]] | None = None
        """A function that someone else follows, and what gives the trace function for a frame of it."""

    def start(self) -> None:
        if sys.gettrace() is not None or threading.gettrace() is not None:
            raise Unavailable("a debugger or coverage tool traces the program and is left alone")
        self._thread = threading.get_ident()
        self._trace, self._trace_frame = self._trace_functions()
        threading.settrace(self._trace)
        # Other running threads cannot be given a trace function: they have no lines rather than stale ones.
        self._trace_stack()

    def _trace_stack(self) -> None:
        """Follow the calling thread's frames that are under way, and all that it will enter."""
        stack = user_stacks(self._user_code)[self._thread]
        seed(self._buffers, self._thread, stack)
        for frame in stack:
            frame.f_trace = self._trace_frame
        self._traced.extend(stack)
        sys.settrace(self._trace)

    def stop(self) -> None:
        """Off in the calling thread and for new ones; other traced threads notice at their next call."""
        trace, self._trace = self._trace, None
        if trace is None:
            return
        # Someone else's trace function, set meanwhile, stays.
        if sys.gettrace() is trace:
            sys.settrace(None)
        if threading.gettrace() is trace:
            threading.settrace(None)
        for frame in self._traced:
            frame.f_trace = None
        self._traced.clear()

    def mute(self, hot: HotLines) -> None:
        self._hot = hot

    def step_ended(self) -> str | None:
        if self._trace is None:
            return None
        found = sys.gettrace()
        if found is self._trace:
            return None
        self._buffers.forget_line(self._thread)
        if found is None:
            # A debugger was here, or the stack overflowed in our trace function, which Python then drops.
            self._trace_stack()
            return None
        told, self._told = self._told, True
        return None if told else "a debugger or coverage tool of the program's traced it"

    def call_soon(self, callback: Callable[[], None], thread: int, places: tuple[CodeType, ...]) -> None:
        self._pending = (callback, thread, {id(place) for place in places})

    def _trace_functions(self) -> tuple[TraceFunction, TraceFunction]:
        local, now = self._buffers.local, perf_counter_ns
        holds, learn, codes = self._user_code.holds, self._buffers.learn, self._buffers.codes

        def note(frame: FrameType | None) -> None:
            while frame is not None:
                code = frame.f_code
                if id(code) in codes:
                    local.extend((now(), id(code), frame.f_lineno or code.co_firstlineno))
                    return
                frame = frame.f_back
            local.extend((now(), 0, 0))

        def mute(frame: FrameType) -> None:
            """Have no line of the frame told from here on: its time stands on that which runs most often."""
            local.extend((now(), id(frame.f_code), self._hot.plain.get(id(frame.f_code), frame.f_lineno)))
            frame.f_trace_lines = False

        def on_call(frame: FrameType, event: str, argument: Any) -> TraceFunction | None:
            if self._trace is None:
                sys.settrace(None)
                return None
            code = frame.f_code
            if self._pending is not None and id(code) in self._pending[2]:
                self._run_pending()
            if self.watched is not None and code is self.watched[0]:
                return self.watched[1](frame)
            resumes = code.co_flags & RESUMABLE
            left = self._hot.known_plain if resumes else self._hot.codes
            if not holds(code) or id(code) in left:
                return None
            if id(code) not in codes:
                learn(code)
            if not resumes and self._may_mute(code):
                mute(frame)
            elif resumes:
                # A generator goes on in the middle of a line, of which no line event tells.
                note(frame)
            return on_event

        def on_event(frame: FrameType, event: str, argument: Any) -> TraceFunction | None:
            if event == "line":
                if id(frame.f_code) in self._hot.known_plain and not frame.f_code.co_flags & RESUMABLE:
                    mute(frame)
                    return on_event
                local.extend((now(), id(frame.f_code), frame.f_lineno))
                if self._pending is not None:
                    self._run_pending()
            elif event == "return":
                passed = id(frame.f_code)
                self._passes[passed] = self._passes.get(passed, 0) + 1
                note(frame.f_back)
            return on_event if self._trace is not None else None

        return on_call, on_event

    def _may_mute(self, code: CodeType) -> bool:
        if id(code) in self._hot.known_plain:
            return True
        return id(code) in self._hot.plain and self._passes.get(id(code), 0) >= PASSES

    def _run_pending(self) -> None:
        if self._pending is not None and self._pending[1] == threading.get_ident():
            callback, self._pending = self._pending[0], None
            callback()
