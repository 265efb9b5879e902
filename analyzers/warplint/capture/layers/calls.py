"""Which module's call each thread is in, for the length of a window.

Module calls all pass through one function of torch's. Its starts and returns are followed by
``sys.monitoring``, in that function alone, from Python 3.12 on, else by the trace function that follows the
lines anyway. Torch's global module hooks are not used: they warn under ``torch.compile`` and cost more."""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Callable
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

import torch

from warplint.capture.layers.table import LEAVE, OTHERS, VARIES, LayerTable
from warplint.capture.lines.tool_ids import holds_tool, leave_tool, monitoring, take_tool
from warplint.capture.recorder import Recorder
from warplint.capture.steps.clock import module_call

FIELDS = 2
NEW = -1
"""The number of a module that has none yet."""
VARIABLES = ("self", "args", "kwargs")
"""Of the function behind ``module(...)``, as torch has had them since 2.0."""

TraceFunction = Callable[[FrameType, str, Any], Any]


class ThreadCalls(threading.local):
    """The calling thread's events, a flat list of ``t_ns, layer``."""

    def __init__(self, add: Callable[[int, list[int]], None]) -> None:
        events: list[int] = []
        self.extend = events.extend
        add(threading.get_native_id(), events)


class LayerCalls:
    """Follows module calls. Started by ``follow``, or by handing ``traced`` the frames of module calls."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._threads: list[tuple[int, list[int]]] = []
        self._local = ThreadCalls(lambda thread, events: self._threads.append((thread, events)))
        self._tool: int | None = None
        self._registered: dict[int, Callable[..., object]] = {}
        self._shared: dict[int, Callable[..., object]] = {}
        self.call = module_call()
        """The function that is followed."""
        self._table = LayerTable(recorder)
        self._enter, self._describe = _recording(self._table, self._local, self.call)
        self.written = 0
        """Events handed to the raw file."""

    @property
    def understood(self) -> bool:
        """Whether torch's function is the one this was written for."""
        return self.call.co_varnames[: len(VARIABLES)] == VARIABLES

    def follow(self, step_clock_tool: int | None) -> bool:
        """Follow calls through ``sys.monitoring``; False when there is no tool id left for it.

        Where module calls are counted as steps, ``step_clock_tool`` follows them already: its events are
        shared."""
        shares = step_clock_tool is not None
        tool = self._tool = step_clock_tool if shares else take_tool(lambda: [self.call])
        if tool is None:
            return False
        events = monitoring.events
        self._registered = self._callbacks()
        for event, callback in self._registered.items():
            before = monitoring.register_callback(tool, event, callback)
            if shares:
                self._shared[event] = before
        if not shares:
            monitoring.set_local_events(tool, self.call, events.PY_START | events.PY_RETURN)
            monitoring.set_events(tool, events.PY_UNWIND)
        return True

    def stop(self) -> None:
        """Follow no more; may be called twice."""
        self._table.write_pending()
        tool, self._tool = self._tool, None
        if tool is None:
            return
        if not self._shared:
            leave_tool(tool, self._registered, [self.call])
        elif holds_tool(tool):
            # Otherwise the program has begun to train, and its calls are not counted any more.
            for event, callback in self._shared.items():
                monitoring.register_callback(tool, event, callback)

    def traced(self, frame: FrameType) -> TraceFunction:
        """The trace function for the frame of a module call."""
        frame.f_trace_lines = False
        self._enter(frame)

        def on_event(frame: FrameType, event: str, argument: Any) -> TraceFunction:
            if event == "return":
                self._local.extend((perf_counter_ns(), LEAVE))
                if self._table.pending:
                    self._describe(frame, argument)
            return on_event

        return on_event

    def flush(self) -> None:
        """Write out what has come in. Callbacks only ever append, and may run meanwhile."""
        for thread, events in list(self._threads):
            taken = events[:]
            del events[: len(taken)]
            if taken:
                self._recorder.layer_calls(thread, array("q", taken))
                self.written += len(taken) // FIELDS

    def _callbacks(self) -> dict[int, Callable[..., object]]:
        call, local, pending, shared = self.call, self._local, self._table.pending, self._shared
        enter, describe, now, get_frame = self._enter, self._describe, perf_counter_ns, sys._getframe
        events = monitoring.events
        start, end, unwind = events.PY_START, events.PY_RETURN, events.PY_UNWIND

        def on_start(code: CodeType, offset: int) -> object:
            if code is call:
                enter(get_frame(1))
            return shared[start](code, offset) if shared else None

        def on_return(code: CodeType, offset: int, value: object) -> object:
            local.extend((now(), LEAVE))
            if pending:
                describe(get_frame(1), value)
            return shared[end](code, offset, value) if shared else None

        def on_unwind(code: CodeType, offset: int, error: BaseException) -> object:
            if code is call:
                local.extend((now(), LEAVE))
            return shared[unwind](code, offset, error) if shared else None

        return {start: on_start, end: on_return, unwind: on_unwind}


def _recording(
    table: LayerTable, local: ThreadCalls, call: CodeType
) -> tuple[Callable[[FrameType], None], Callable[[FrameType, object], None]]:
    """What notes that a call starts, and what describes a layer when its first call ends.

    Closures, since one runs with every module call.
    """
    numbers, shapes, pending = table.numbers, table.shapes, table.pending
    now, tensor, unseen = perf_counter_ns, torch.Tensor, torch._C.DisableTorchFunction

    def enter(frame: FrameType) -> None:
        number = OTHERS
        try:
            variables = frame.f_locals
            arguments = variables["args"]
            # The program's function modes are to see nothing of what is read here.
            with unseen():
                # A class derived from Tensor may compute its shape in Python, and is left alone.
                shape = arguments[0].shape if arguments and type(arguments[0]) is tensor else None
                number = numbers.get(id(variables["self"]), NEW)
                if number == NEW:
                    number = table.meet(variables["self"], not _is_within(frame.f_back, call), shape)
            if shapes[number] is not VARIES and shapes[number] != shape:
                table.varies(number)
        except Exception as error:
            table.fail(error)
        local.extend((now(), number))

    def describe(frame: FrameType, value: object) -> None:
        try:
            variables = frame.f_locals
            number = numbers.get(id(variables["self"]), NEW)
            if number in pending:
                with unseen():
                    table.called(number, (variables["args"], variables["kwargs"]), value)
        except Exception as error:
            table.fail(error)

    return enter, describe


def _is_within(frame: FrameType | None, code: CodeType) -> bool:
    """Whether a call of ``code`` is among ``frame`` and the frames above it."""
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False
