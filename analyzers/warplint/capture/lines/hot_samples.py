"""Finds threads on lines that are followed no longer: by a look now and then."""

from __future__ import annotations

import sys
from time import perf_counter_ns
from types import FrameType

from warplint.capture.background import Background
from warplint.capture.lines.buffers import Buffers
from warplint.capture.lines.hot_lines import HotLines

PERIOD_S = 0.01
"""The thread that runs hot lines must let go of the interpreter for each look: a hundred looks a second cost
it less than a hundredth of its time."""


class HotSamples:
    """Adds to a thread's events, while it runs a hot line, that it does."""

    def __init__(self, buffers: Buffers, hot: HotLines) -> None:
        self._buffers = buffers
        self._hot = hot
        self._looking = Background(self._look, PERIOD_S, _ignore)

    def start(self) -> None:
        self._looking.start()

    def stop(self) -> None:
        self._looking.stop()

    def _look(self) -> None:
        for ident, frame in sys._current_frames().items():
            place = self._hot_place(frame)
            if place is not None:
                self._buffers.insert(ident, (perf_counter_ns(), *place))

    def _hot_place(self, frame: FrameType | None) -> tuple[int, int] | None:
        """The hot line that a thread's innermost followed frame is on, if it is on one.

        Frames of code whose returns are not followed do not count: nothing would tell when they were left.
        """
        codes, unfollowed = self._buffers.codes, self._hot.codes
        while frame is not None and (id(frame.f_code) not in codes or id(frame.f_code) in unfollowed):
            frame = frame.f_back
        if frame is None or frame.f_lineno is None:
            return None
        place = (id(frame.f_code), frame.f_lineno)
        return place if place in self._hot.lines else None


def _ignore(error: Exception) -> None:
    """Without samples the time of hot lines stands on the line before them, as it does between samples."""
