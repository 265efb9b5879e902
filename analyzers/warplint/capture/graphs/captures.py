"""The only file that touches ``torch.cuda.CUDAGraph``: when graphs are captured, and which is replayed when.

A replay is one call, whose kernels come in the order in which they were captured. So lines are followed while
a graph is captured, in a window or out of one, and the reader puts both side by side.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import torch

from warplint.capture.graphs.followed import FollowedCapture
from warplint.capture.layout import Record
from warplint.capture.patches import Patches
from warplint.capture.recorder import INFO, WARNING, Recorder

MAX_REPLAYS = 100_000
"""Replays noted in a window, two megabytes; the kernels of later ones stay on the line that replays."""
COMPILERS_OWN = "cudagraph_trees.py"
"""Where torch.compile captures graphs, whose kernels have their lines from Inductor."""
FRAMES_ABOVE = 12


@dataclass(slots=True)
class _Capture:
    """A capture that is under way."""

    graph: int
    window: int | None
    followed: FollowedCapture | None
    begin_ns: int


class Graphs:
    """Numbers graphs as they are captured. What fails here leaves kernels on the line that replays them."""

    def __init__(
        self,
        recorder: Recorder,
        window: Callable[[], int | None],
        follow: Callable[[int], FollowedCapture | None],
    ) -> None:
        """``window`` is the number of the open one; ``follow`` begins to follow lines outside a window."""
        self._recorder, self._window, self._follow = recorder, window, follow
        self._patches = Patches(torch.cuda.CUDAGraph)
        self._on = False
        self._noting = False
        """Whether replays are noted: within windows."""
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = 0
        self._capture: _Capture | None = None
        self._replays = array("q")
        self._unfollowed = 0
        self._seconds = 0.0
        self._failure = ""

    def install(self) -> None:
        if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
            return
        self._on = True
        self._patches.put("capture_begin", self._around_begin)
        self._patches.put("capture_end", self._around_end)

    def remove(self) -> None:
        self._on = self._noting = False
        self._patches.take_all_off()

    def window_opened(self) -> None:
        """Note replays from now on. Outside windows they run as if we were not there."""
        if self._count and self._on:
            self._replays = array("q")
            self._note_replays()

    def window_closed(self, window: int) -> None:
        self._noting = False
        self._patches.take_off("replay")
        if self._replays:
            flat = iter(self._replays.tolist())
            replays = list(zip(flat, flat, strict=True))
            self._recorder.json(Record.CUDA_REPLAYS, {"window": window, "replays": replays})
            self._replays = array("q")

    def note_what_is_lost(self) -> None:
        if self._seconds:
            text = f"following the capture of CUDA graphs by line took {self._seconds:.1f} s"
            self._recorder.note(INFO, "cuda-graphs", text)
        if self._unfollowed:
            text = (
                f"the capture of {self._unfollowed} CUDA graphs was not followed: "
                "their kernels are on the lines that replay them"
            )
            self._recorder.note(INFO, "cuda-graphs", text)
        if self._failure:
            text = f"CUDA graphs are on the lines that replay them: {self._failure}"
            self._recorder.note(WARNING, "cuda-graphs", text)

    def _note_replays(self) -> None:
        self._noting = True
        self._patches.put("replay", self._around_replay)

    def _around_begin(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> Any:
            self._guarded(lambda: self._begin(graph))
            try:
                return original(graph, *args, **kwargs)
            except BaseException:
                self._guarded(self._abandon)
                raise

        return capture_begin

    def _around_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def capture_end(graph: Any, *args: Any, **kwargs: Any) -> Any:
            end_ns = perf_counter_ns()
            try:
                result = original(graph, *args, **kwargs)
            except BaseException:
                self._guarded(self._abandon)
                raise
            self._guarded(lambda: self._end(end_ns))
            return result

        return capture_end

    def _around_replay(self, original: Callable[..., Any]) -> Callable[..., Any]:
        numbers, now = self._numbers, perf_counter_ns

        @functools.wraps(original)
        def replay(graph: Any, *args: Any, **kwargs: Any) -> Any:
            if self._noting and len(self._replays) < 2 * MAX_REPLAYS:
                self._replays.extend((now(), numbers.get(graph, 0)))
            return original(graph, *args, **kwargs)

        return replay

    def _begin(self, graph: Any) -> None:
        if not self._on or self._capture is not None or _is_compilers():
            return
        self._count += 1
        self._numbers[graph] = self._count
        window = self._window()
        followed = self._follow(self._count) if window is None else None
        if window is None and followed is None:
            self._unfollowed += 1
            return
        if window is not None:
            self._note_replays()
        self._capture = _Capture(self._count, window, followed, perf_counter_ns())

    def _end(self, end_ns: int) -> None:
        capture, self._capture = self._capture, None
        if capture is None:
            return
        record: dict[str, Any] = {
            "graph": capture.graph,
            "window": capture.window,
            "begin_ns": capture.begin_ns,
            "end_ns": end_ns,
            "thread": threading.get_native_id(),
            "trace": None,
            "markers": [],
            "clock": [],
        }
        if capture.followed is not None:
            record |= capture.followed.finish()
            self._seconds += capture.followed.seconds
        self._recorder.json(Record.CUDA_GRAPH, record)

    def _abandon(self) -> None:
        capture, self._capture = self._capture, None
        if capture is not None and capture.followed is not None:
            capture.followed.abort()

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
            self.remove()
            self._abandon()


def _is_compilers() -> bool:
    frame = sys._getframe(1)
    for _ in range(FRAMES_ABOVE):
        if frame.f_back is None:
            return False
        frame = frame.f_back
        if frame.f_code.co_filename.endswith(COMPILERS_OWN):
            return True
    return False
