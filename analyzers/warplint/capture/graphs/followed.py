"""Follows lines and launches while a CUDA graph is captured outside any window."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

from warplint.capture.gpu.kineto import Trace, may_synchronize
from warplint.capture.layout import graph_trace_name
from warplint.capture.lines.buffers import Buffers
from warplint.capture.lines.timeline import Timeline, Unavailable
from warplint.capture.window import Surroundings, make_timeline

MAX_FOLLOWED = 8
"""Captures followed in a process: servers capture a graph for each of dozens of batch sizes."""
MAX_SECONDS = 10.0
"""What following may take of a run; starting Kineto for the first time takes two to four, once."""


class FollowedCapture:
    """Everything on with ``start``; ``finish`` or ``abort`` once."""

    def __init__(self, number: int, around: Surroundings) -> None:
        self._number, self._around = number, around
        self._buffers = Buffers(around.recorder, around.sources)
        self._timeline: Timeline = make_timeline(self._buffers, around.user_code)
        self._trace = Trace()
        self.seconds = 0.0
        """What starting and finishing took."""

    def start(self) -> None:
        """Raises RuntimeError, Unavailable or an interruption, with everything off again."""
        began = perf_counter()
        with self._around.watch.ours():
            self._trace.start()
        try:
            self._timeline.start()
        except BaseException:
            self.abort()
            raise
        self.seconds += perf_counter() - began

    def finish(self) -> dict[str, Any]:
        """What the CUDA_GRAPH record says of it."""
        began = perf_counter()
        self._timeline.stop()
        self._stop_trace()
        self._buffers.flush()
        around = self._around
        name = graph_trace_name(around.rank.rank, around.recorder.pid, self._number)
        self._trace.export(Path(around.settings.folder) / name)
        self.seconds += perf_counter() - began
        return {"trace": name, "markers": self._trace.markers, "clock": self._trace.clock}

    def abort(self) -> None:
        try:
            self._timeline.stop()
        finally:
            with contextlib.suppress(RuntimeError):
                self._stop_trace()

    def _stop_trace(self) -> None:
        with self._around.watch.ours():
            self._trace.stop()


class Follower:
    """Follows captures as long as they are few and quick."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._followed: list[FollowedCapture] = []

    def follow(self, number: int) -> FollowedCapture | None:
        """A capture that is followed from now on; None where it must not or need not be."""
        if len(self._followed) >= MAX_FOLLOWED or self._seconds() > MAX_SECONDS:
            return None
        # As for a window: Kineto belongs to the main thread, and to one profiler at a time.
        if threading.current_thread() is not threading.main_thread() or self._around.watch.busy():
            return None
        if self._around.recorder.failed or not may_synchronize():
            return None
        capture = FollowedCapture(number, self._around)
        try:
            capture.start()
        except (RuntimeError, Unavailable):
            return None
        self._followed.append(capture)
        return capture

    def _seconds(self) -> float:
        return sum(capture.seconds for capture in self._followed)
