"""What the two ways of following lines have in common."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from enum import Enum
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Protocol

from warplint.capture.buffers import Buffers
from warplint.capture.user_code import UserCode


class Method(str, Enum):
    """How lines are followed; recorded in PROCESS."""

    MONITORING = "monitoring"
    SETTRACE = "settrace"
    NONE = "none"


class Unavailable(Exception):
    """Lines cannot be followed; the message says why in a clause."""


class Timeline(Protocol):
    """Follows, between ``start`` and ``stop``, the innermost user line of every thread."""

    def start(self) -> None:
        """Raises Unavailable."""

    def stop(self) -> None:
        """Everything off; may be called twice."""

    def call_soon(self, callback: Callable[[], None], thread: int, places: tuple[CodeType, ...]) -> None:
        """Have ``callback`` called once by the thread of that identifier.

        It happens when that thread next reaches a user line or enters one of ``places``.
        """


def user_frame(frame: FrameType | None, user_code: UserCode) -> FrameType | None:
    """The innermost frame of the user's at or above ``frame``."""
    while frame is not None and not user_code.holds(frame.f_code):
        frame = frame.f_back
    return frame


def seed(buffers: Buffers, user_code: UserCode) -> list[FrameType]:
    """Note where every running thread stands; returns their frames of the user's, innermost first.

    Threads that entered their functions before the window would otherwise have no line until their next one.
    """
    native_ids = {thread.ident: thread.native_id for thread in threading.enumerate()}
    met: list[FrameType] = []
    for ident, top in sys._current_frames().items():
        frame, native_id = user_frame(top, user_code), native_ids.get(ident)
        if frame is not None and native_id is not None:
            buffers.learn(frame.f_code)
            line = frame.f_lineno or frame.f_code.co_firstlineno
            buffers.note(ident, native_id, (perf_counter_ns(), id(frame.f_code), line))
        while frame is not None:
            buffers.learn(frame.f_code)
            met.append(frame)
            frame = user_frame(frame.f_back, user_code)
    return met
