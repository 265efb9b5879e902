"""What the two ways of following lines have in common."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from enum import Enum
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Protocol

from warplint.capture.lines.buffers import Buffers
from warplint.capture.lines.hot_lines import HotLines
from warplint.capture.lines.user_code import UserCode


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

    def mute(self, hot: HotLines) -> None:
        """Stop following hot lines each time; ``hot`` may have become more since the last call."""

    def step_ended(self) -> str | None:
        """To be called by the stepping thread. Why lines are followed no longer, in a clause, told once."""

    def call_soon(self, callback: Callable[[], None], thread: int, places: tuple[CodeType, ...]) -> None:
        """Have ``callback`` called once by the thread of that identifier.

        It happens when that thread next reaches a user line or enters one of ``places``.
        """


def user_frame(frame: FrameType | None, user_code: UserCode) -> FrameType | None:
    """The innermost frame of the user's at or above ``frame``."""
    while frame is not None and not user_code.holds(frame.f_code):
        frame = frame.f_back
    return frame


def user_stacks(user_code: UserCode) -> dict[int, list[FrameType]]:
    """The user's frames of every running thread, by thread identifier, innermost first."""
    stacks = {}
    for ident, frame in sys._current_frames().items():
        stack = []
        innermost = user_frame(frame, user_code)
        while innermost is not None:
            stack.append(innermost)
            innermost = user_frame(innermost.f_back, user_code)
        stacks[ident] = stack
    return stacks


def seed(buffers: Buffers, ident: int, stack: list[FrameType]) -> None:
    """Note where a running thread stands, which would otherwise have no line until it reaches its next."""
    for frame in stack:
        buffers.learn(frame.f_code)
    native_ids = {thread.ident: thread.native_id for thread in threading.enumerate()}
    native_id = native_ids.get(ident)
    if stack and native_id is not None:
        code = stack[0].f_code
        event = (perf_counter_ns(), id(code), stack[0].f_lineno or code.co_firstlineno)
        buffers.note(ident, native_id, event)
