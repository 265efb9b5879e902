"""What each CUDA graph of a process was captured from, whether inside a window or outside all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.graphs import CapturedLaunch, captured_launches
from warplint.profile.attribution.window_trace import read_window_trace
from warplint.profile.kineto.clock import ClockError
from warplint.profile.kineto.trace import Trace, TraceError
from warplint.profile.raw.graphs import RawCudaGraph
from warplint.profile.raw.process import RawWindow, WindowClose
from warplint.profile.timeline import Places, Timeline


class CapturedGraphs:
    """``launches`` by the graph's number: None where they cannot be told; of those in windows, when taken."""

    def __init__(self, folder: Path, graphs: Sequence[RawCudaGraph], places: Places) -> None:
        self._graphs = graphs
        self.launches: dict[int, list[CapturedLaunch] | None] = {
            graph.graph: _followed(folder, graph, places) for graph in graphs if graph.window is None
        }

    def take_window(self, window: int, trace: Trace, charger: Charger) -> None:
        """Take what was captured in a window. The trace's times must already be the timeline's."""
        for graph in self._graphs:
            if graph.window == window:
                self.launches[graph.graph] = captured_launches(trace, charger, graph.begin_ns, graph.end_ns)


def _followed(folder: Path, graph: RawCudaGraph, places: Places) -> list[CapturedLaunch] | None:
    close = WindowClose.of_json(graph.trace)
    if close.trace is None:
        return None
    try:
        trace, _ = read_window_trace(folder, close.trace, close)
    except (TraceError, ClockError):
        return None
    timeline = Timeline(RawWindow(0, graph.begin_ns, lines=graph.lines), places)
    charger = Charger(trace, timeline, graph.thread)
    return captured_launches(trace, charger, graph.begin_ns, graph.end_ns)
