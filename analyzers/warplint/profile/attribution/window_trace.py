"""A window's trace, on the clock and with the thread ids of its lines."""

from __future__ import annotations

from pathlib import Path

from warplint.profile.kineto.clock import Clock, find_markers, fit_clock, unix_pairs
from warplint.profile.kineto.reader import read_trace
from warplint.profile.kineto.threads import name_threads
from warplint.profile.kineto.trace import Trace
from warplint.profile.raw.process import WindowClose


def read_window_trace(folder: Path, trace: str, close: WindowClose) -> tuple[Trace, Clock]:
    """The trace file of that name, its times in ``perf_counter_ns``, its threads by their native ids.

    Raises TraceError, ClockError.
    """
    # A name with a folder in it was not written by capture.
    read = read_trace(folder / Path(trace).name)
    clock = fit_clock(unix_pairs(read, close.clock), find_markers(read, close.markers))
    clock.apply(read)
    name_threads(read, close.threads)
    return read, clock
