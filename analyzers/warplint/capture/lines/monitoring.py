"""The line timeline through ``sys.monitoring`` (Python 3.12 and later).

LINE, PY_RETURN and PY_YIELD are switched on in the user's code objects alone. Everything else that runs is
met once, at its first PY_START or PY_RESUME, and switched off there, so library code keeps its speed.
PY_UNWIND exists only globally and cannot be switched off in places.

No event says that a call has returned into the middle of a line. So whenever a frame of the user's is left,
the line of the next user frame above it is noted again; that frame is looked up on the real stack, which no
generator, exception or frame entered before the window can bring out of step.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

from warplint.capture.lines.buffers import Buffers
from warplint.capture.lines.hot_lines import HotLines
from warplint.capture.lines.hot_samples import HotSamples
from warplint.capture.lines.timeline import Unavailable, seed, user_stacks
from warplint.capture.lines.tool_ids import holds_tool, leave_tool, monitoring, take_tool
from warplint.capture.lines.user_code import UserCode


class MonitoringTimeline:
    """A ``timeline.Timeline``."""

    def __init__(self, buffers: Buffers, user_code: UserCode) -> None:
        self._buffers = buffers
        self._user_code = user_code
        self._tool: int | None = None
        self._callbacks: dict[int, Callable[..., Any]] = {}
        self._hot: HotLines | None = None
        self._samples: list[HotSamples] = []
        """One at most. A list, from which one thread alone can take it."""

    def start(self) -> None:
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            raise Unavailable("lines are not followed in a Python without the GIL")
        tool = self._tool = take_tool(lambda: list(self._buffers.codes.values()))
        if tool is None:
            raise Unavailable("both tool ids of sys.monitoring that a profiler may use are taken")
        events = monitoring.events
        # Whoever held the id before, us included, may have left code switched off.
        monitoring.restart_events()
        self._callbacks = self._make_callbacks()
        for event, callback in self._callbacks.items():
            monitoring.register_callback(tool, event, callback)
        for ident, stack in user_stacks(self._user_code).items():
            seed(self._buffers, ident, stack)
            for frame in stack:
                self._follow(frame.f_code)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_UNWIND)

    def stop(self) -> None:
        if self._tool is None:
            return
        tool, self._tool = self._tool, None
        leave_tool(tool, self._callbacks, list(self._buffers.codes.values()))
        self._stop_samples()

    def step_ended(self) -> str | None:
        if self._tool is None:
            return None
        if not holds_tool(self._tool):
            self.stop()
            self._buffers.forget_lines()
            return "the program freed the tool id of sys.monitoring that they are followed under"
        self._follow_hot_lines_once()
        return None

    def _follow_hot_lines_once(self) -> None:
        """Have each hot line told when the coming step first reaches it: what was off comes on again."""
        if self._hot is None:
            return
        followed = self._buffers.codes
        # Copied first: the background thread adds lines meanwhile.
        for code in {code for code, _ in tuple(self._hot.lines)} - self._hot.codes:
            monitoring.set_local_events(self._tool, followed[code], 0)
            self._follow(followed[code])

    def mute(self, hot: HotLines) -> None:
        if self._hot is not None or not self._holds_tool():
            return
        self._hot = hot
        samples = HotSamples(self._buffers, hot)
        samples.start()
        self._samples.append(samples)
        if not self._holds_tool():
            # The stepping thread has stopped us meanwhile, or the program taken the id.
            self._stop_samples()
            return
        events, disable = monitoring.events, monitoring.DISABLE
        on_line, on_leave = self._callbacks[events.LINE], self._callbacks[events.PY_RETURN]
        on_resume = self._callbacks[events.PY_RESUME]
        lines, codes = hot.lines, hot.codes

        def on_line_unless_hot(code: CodeType, line: int) -> object:
            if (id(code), line) not in lines:
                return on_line(code, line)
            if id(code) not in codes:
                on_line(code, line)
            return disable

        def on_leave_unless_hot(code: CodeType, offset: int, value: object) -> object:
            return disable if id(code) in codes else on_leave(code, offset, value)

        def on_resume_unless_hot(code: CodeType, offset: int) -> object:
            return disable if id(code) in codes else on_resume(code, offset)

        muting = {
            events.LINE: on_line_unless_hot,
            events.PY_RESUME: on_resume_unless_hot,
            events.PY_RETURN: on_leave_unless_hot,
            events.PY_YIELD: on_leave_unless_hot,
        }
        self._callbacks |= muting
        for event, callback in muting.items():
            monitoring.register_callback(self._tool, event, callback)

    def _stop_samples(self) -> None:
        with contextlib.suppress(IndexError):
            self._samples.pop().stop()

    def call_soon(self, callback: Callable[[], None], thread: int, places: tuple[CodeType, ...]) -> None:
        if not self._holds_tool():
            return
        events = monitoring.events
        entrances = {id(place) for place in places}
        on_line, on_start = self._callbacks[events.LINE], self._callbacks[events.PY_START]

        def run() -> None:
            if threading.get_ident() == thread and self._holds_tool():
                monitoring.register_callback(self._tool, events.LINE, on_line)
                monitoring.register_callback(self._tool, events.PY_START, on_start)
                callback()

        def on_next_line(code: CodeType, line: int) -> object:
            answer = on_line(code, line)
            run()
            return answer

        def on_next_start(code: CodeType, offset: int) -> object:
            if id(code) in entrances:
                run()
                return None
            return on_start(code, offset)

        monitoring.register_callback(self._tool, events.LINE, on_next_line)
        monitoring.register_callback(self._tool, events.PY_START, on_next_start)
        # The places have long been met, and switched off.
        monitoring.restart_events()

    def _holds_tool(self) -> bool:
        """Else what is registered under the id is someone else's to change."""
        tool = self._tool
        return tool is not None and holds_tool(tool)

    def _follow(self, code: CodeType) -> None:
        assert self._tool is not None
        self._buffers.learn(code)
        events = monitoring.events
        monitoring.set_local_events(self._tool, code, events.LINE | events.PY_RETURN | events.PY_YIELD)

    def _make_callbacks(self) -> dict[int, Callable[..., Any]]:
        local, now, get_frame = self._buffers.local, perf_counter_ns, sys._getframe
        followed, holds, follow = self._buffers.codes, self._user_code.holds, self._follow
        disable = monitoring.DISABLE

        def note(frame: FrameType | None) -> None:
            while frame is not None:
                code = frame.f_code
                if id(code) in followed:
                    local.extend((now(), id(code), frame.f_lineno or code.co_firstlineno))
                    return
                frame = frame.f_back
            local.extend((now(), 0, 0))

        def on_start(code: CodeType, offset: int) -> object:
            # The first line of a function that is now followed reports itself: no later start is of interest.
            if holds(code) and id(code) not in followed:
                follow(code)
            return disable

        def on_resume(code: CodeType, offset: int) -> object:
            if not holds(code):
                return disable
            if id(code) not in followed:
                follow(code)
            note(get_frame(1))
            return None

        def on_line(code: CodeType, line: int) -> None:
            local.extend((now(), id(code), line))

        def on_leave(code: CodeType, offset: int, value: object) -> None:
            note(get_frame(1).f_back)

        def on_unwind(code: CodeType, offset: int, error: BaseException) -> None:
            if id(code) in followed:
                frame = get_frame(1)
                note(frame.f_back if frame.f_code is code else frame)

        events = monitoring.events
        return {
            events.PY_START: on_start,
            events.PY_RESUME: on_resume,
            events.PY_UNWIND: on_unwind,
            events.LINE: on_line,
            events.PY_RETURN: on_leave,
            events.PY_YIELD: on_leave,
        }
