"""Finds the program's steps without touching its code.

A training step ends when an optimizer has stepped. A program that steps none is taken to infer, and a step
ends when a call of the ``nn.Module`` returns that leads those called outside any other.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from enum import Enum
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from warplint.capture.lines.tool_ids import holds_tool, leave_tool, monitoring, take_tool
from warplint.capture.steps.leading import LeadingModule
from warplint.capture.steps.log import StepLog

OnStep = Callable[[int], None]
"""Called at the end of each step with the time in ``perf_counter_ns``."""


class StepKind(str, Enum):
    """What ends a step; recorded in WINDOW_OPEN."""

    OPTIMIZER = "optimizer"
    MODULE = "module"


STRANGERS = 20
"""So many steps of other optimizers, without one of the leader's, and the next becomes the leader."""


class OptimizerClock:
    """A step ends after ``optimizer.step()``: of the first optimizer seen, until it is no longer used."""

    def __init__(self, on_step: OnStep) -> None:
        self._on_step = on_step
        self._leader: weakref.ref[torch.optim.Optimizer] | None = None
        self._strangers = 0
        self._handle: Any = None

    def start(self) -> None:
        self._handle = register_optimizer_step_post_hook(self._after_step)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _after_step(self, optimizer: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        # Traced into a compiled step, this hook must leave nothing there.
        if torch.compiler.is_compiling():
            return
        leader = self._leader() if self._leader is not None else None
        if leader is not optimizer:
            self._strangers += 1
            if leader is not None and self._strangers <= STRANGERS:
                return
            self._leader = weakref.ref(optimizer)
        self._strangers = 0
        self._on_step(perf_counter_ns())


class ModuleClock:
    """A step ends when an outermost call of the leading module returns (Python 3.12 and later).

    Counted by ``sys.monitoring`` in the one function that all module calls pass through, which costs a
    fifth of a microsecond a call; torch's global module hooks cost five times that and upset torch.compile.
    """

    def __init__(self, on_step: OnStep) -> None:
        self._on_step = on_step
        self._tool: int | None = None
        self._watched: tuple[CodeType, ...] = ()
        self._callbacks: dict[int, Callable[..., object]] = {}
        self.optimizer_built = False
        """Whether the program made an optimizer, and so means to train."""

    def start(self) -> bool:
        """False when this Python has no ``sys.monitoring``, or others use all of it."""
        if monitoring is None:
            return False
        tool = self._tool = take_tool(lambda: self._watched)
        if tool is None:
            return False
        call, optimizer_init = module_call(), torch.optim.Optimizer.__init__.__code__
        self._watched = (call, optimizer_init)
        events = monitoring.events
        self._callbacks = self._make_callbacks(call)
        for event, callback in self._callbacks.items():
            monitoring.register_callback(tool, event, callback)
        monitoring.set_local_events(tool, call, events.PY_START | events.PY_RETURN)
        monitoring.set_local_events(tool, optimizer_init, events.PY_START)
        monitoring.set_events(tool, events.PY_UNWIND)
        return True

    @property
    def tool(self) -> int | None:
        """The tool id that module calls are followed under; None once the program has taken it."""
        return self._tool if self._tool is not None and holds_tool(self._tool) else None

    def stop(self) -> None:
        if self._tool is None:
            return
        tool, self._tool = self._tool, None
        leave_tool(tool, self._callbacks, self._watched)

    def _make_callbacks(self, call: CodeType) -> dict[int, Callable[..., object]]:
        depths: dict[int, int] = {}
        began_ns: dict[int, int] = {}
        on_step, thread_id, disable = self._on_step, threading.get_ident, monitoring.DISABLE
        leading, get_frame, now = LeadingModule(), sys._getframe, perf_counter_ns

        def on_start(code: CodeType, offset: int) -> object:
            if code is not call:
                self.optimizer_built = True
                return disable
            thread = thread_id()
            depth = depths[thread] = depths.get(thread, 0) + 1
            if depth == 1:
                began_ns[thread] = now()
            return None

        def on_return(code: CodeType, offset: int, value: object) -> None:
            thread = thread_id()
            depth = depths.get(thread, 0) - 1
            # Calls entered before the clock started are not counted: their returns come without a start.
            depths[thread] = max(0, depth)
            if depth == 0:
                ended_ns = now()
                module = _called_module(get_frame(1), call)
                # Whose call it was is not known where torch has changed its function: then each is a step.
                if module is None or leading.makes_step(module, ended_ns - began_ns[thread]):
                    on_step(ended_ns)

        def on_unwind(code: CodeType, offset: int, error: BaseException) -> None:
            if code is call:
                thread = thread_id()
                depths[thread] = max(0, depths.get(thread, 0) - 1)

        events = monitoring.events
        return {events.PY_START: on_start, events.PY_RETURN: on_return, events.PY_UNWIND: on_unwind}


def module_call() -> CodeType:
    """The function behind ``module(...)``."""
    code: CodeType = torch.nn.Module._wrapped_call_impl.__code__
    return code


def _called_module(frame: FrameType | None, call: CodeType) -> torch.nn.Module | None:
    """Whose call a callback was asked in, which may have asked another."""
    while frame is not None and frame.f_code is not call:
        frame = frame.f_back
    module = None if frame is None else frame.f_locals.get("self")
    return module if isinstance(module, torch.nn.Module) else None


class StepTimes:
    """When each step ended: numbered from 1, the last at hand, all on their way to the raw file."""

    RECENT = 128

    def __init__(self, count: int = 0) -> None:
        self.count = count
        """Steps ended, and the index of the last."""
        self.first_ns = 0
        self.recent: deque[int] = deque(maxlen=self.RECENT)
        """The last steps' ends in ``perf_counter_ns``."""
        self.log = StepLog()

    def add(self, t_ns: int) -> None:
        self.count += 1
        if not self.recent:
            self.first_ns = t_ns
        self.recent.append(t_ns)
        self.log.add(self.count, t_ns)
