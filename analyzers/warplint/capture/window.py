"""One capture window, from everything on to everything off again."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from warplint.capture.background import Background
from warplint.capture.gpu import cupti
from warplint.capture.gpu.kineto import ProfilerWatch, Trace, may_synchronize, why_unsettled
from warplint.capture.gpu.nvml import Nvml, NvmlUnavailable
from warplint.capture.layers.calls import LayerCalls
from warplint.capture.layout import MANIFEST, Record, trace_name
from warplint.capture.lines.buffers import Buffers
from warplint.capture.lines.hot_lines import FAST_NS, FAST_TRACED_NS, HotLines
from warplint.capture.lines.sources import Sources
from warplint.capture.lines.timeline import Method, Timeline, Unavailable
from warplint.capture.lines.user_code import UserCode
from warplint.capture.price import Price
from warplint.capture.process import Rank, describe
from warplint.capture.recorder import INFO, WARNING, Recorder
from warplint.capture.settings import Settings
from warplint.capture.steps.clock import StepKind, module_call
from warplint.capture.steps.lead_in import LeadIn, Usual

SETTLE_S = 60.0
"""How long to wait for the GPU to finish what was launched in the window."""
TICK_S = 0.1
"""How often samples are taken and line events written out."""
MAX_EVENTS = 20_000_000
"""Events after which a window closes, half a gigabyte of raw file."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a window needs of the session."""

    settings: Settings
    rank: Rank
    recorder: Recorder
    user_code: UserCode
    sources: Sources
    watch: ProfilerWatch


class Window:
    """Opened by the constructor's caller on the stepping thread with ``open``, closed once with ``close``."""

    def __init__(
        self, number: int, steps: int, around: Surroundings, please_close: Callable[[str], None]
    ) -> None:
        self._number = number
        self._around = around
        self._please_close = please_close
        self._buffers = Buffers(around.recorder, around.sources)
        self._timeline: Timeline | None = make_timeline(self._buffers, around.user_code)
        self._trace: Trace | None = None
        self._nvml: Nvml | None = None
        self._samples: list[dict[str, Any]] = []
        self._layers = LayerCalls(around.recorder)
        self._background = Background(self._tick, TICK_S, self._ticking_failed)
        self._price = Price()
        self._thread = 0
        self._native_thread = 0
        self._deadline_ns = 0
        self._asked = False
        traced = native_method() is Method.SETTRACE
        self._hot = HotLines(fast_ns=FAST_TRACED_NS if traced else FAST_NS, met=self._buffers.codes)
        self._lead_in = LeadIn(0, None)
        self._steps = steps

    def open(self, step: int, kind: StepKind, reason: str, usual: Usual | None) -> None:
        """``usual``: what steps took before; None where that is not known."""
        started_ns = perf_counter_ns()
        self._thread, self._native_thread = threading.get_ident(), threading.get_native_id()
        recorder = self._around.recorder
        with self._price.part("start"):
            self._open_nvml()
            self._store_loaded_sources()
            self._start_trace()
            method = self._start_timeline()
            driver = self._nvml.driver if self._nvml else None
            recorder.json(Record.PROCESS, describe(self._around.settings, self._around.rank, method, driver))
        opened_ns = perf_counter_ns()
        recorder.json(
            Record.WINDOW_OPEN,
            {
                "window": self._number,
                "t_ns": opened_ns,
                "step": step,
                "step_kind": kind.value,
                "reason": reason,
                "start_us": (opened_ns - started_ns) / 1000,
            },
        )
        self._opened_ns = opened_ns
        self._lead_in = LeadIn(opened_ns, usual)
        self._deadline_ns = opened_ns + int(self._around.settings.seconds * 1e9)
        self._background.start()

    def follow_layers(self, step_clock_tool: int | None) -> None:
        """Follow module calls too. They take a tool id that opening the window unseen needs for itself."""
        layers = self._layers
        follow = self._follow_by_tracing if native_method() is Method.SETTRACE else layers.follow
        if not layers.understood or not follow(step_clock_tool):
            self._around.recorder.note(
                INFO, "no-layers", "layers have no names: module calls could not be followed"
            )

    def _follow_by_tracing(self, step_clock_tool: int | None) -> bool:
        from warplint.capture.lines.settrace import SettraceTimeline

        if not isinstance(self._timeline, SettraceTimeline):
            return False
        self._timeline.watched = (self._layers.call, self._layers.traced)
        return True

    def leave_layers(self) -> None:
        self._layers.stop()

    @property
    def steps_left(self) -> int:
        """Whole steps that are still wanted."""
        return self._steps - self._lead_in.counted

    def step_ended(self, t_ns: int) -> bool:
        """Mark a step's end; True when it was the last one wanted."""
        self._lead_in.step_ended(t_ns)
        self._check_timeline()
        if self.steps_left <= 0:
            return True
        if self._trace is not None:
            self._trace.mark()
        return False

    def close(self, step: int, t_ns: int, reason: str, *, ending: bool = False) -> None:
        """Everything off, everything written. ``t_ns`` is when the last step ended, or now. ``ending``: the
        program is."""
        with self._price.part("stop"):
            if self._timeline is not None:
                self._timeline.stop()
            self._background.stop()
            unsettled = why_unsettled(SETTLE_S, ending=ending)
            synced_ns = perf_counter_ns()
            trace = self._drop_trace(unsettled) if unsettled else self._stop_trace(ending=ending)
        with self._price.part("write"):
            self._buffers.flush()
            self._layers.flush()
            trace_file = self._export(trace)
            if self._samples:
                self._around.recorder.json(Record.SAMPLES, self._samples)
            if self._nvml is not None:
                self._nvml.close()
        self._note_hot_lines()
        self._around.recorder.json(
            Record.WINDOW_CLOSE,
            {
                "window": self._number,
                "t_ns": t_ns,
                "synced_ns": synced_ns,
                "step": step,
                "reason": reason,
                "trace": trace_file,
                "main_thread": self._native_thread,
                "lead_in": self._lead_in.steps,
                "counts_ns": self._lead_in.counts_ns,
                "markers": trace.markers if trace else [],
                "clock": trace.clock if trace else [],
                "threads": list(trace.threads.items()) if trace else [],
                "price": {**self._price.record(), "inside_s": (t_ns - self._opened_ns) / 1e9},
            },
        )
        self._announce()

    def _announce(self) -> None:
        """Stamp the manifest, which editors watch: the costs are there long before the program ends."""
        with contextlib.suppress(OSError):
            os.utime(Path(self._around.settings.folder) / MANIFEST)

    def abort(self) -> None:
        """Everything off after a failure, as far as it will go; what was not written is lost.

        One part that fails must not keep the others on: a program that ends with Kineto running may crash.
        """
        parts: list[Callable[[], object]] = [self.leave_layers]
        if self._timeline is not None:
            parts.append(self._timeline.stop)
        if self._background.running:
            parts.append(self._background.stop)
        for part in (*parts, self._buffers.flush, self._stop_trace):
            with contextlib.suppress(Exception):
                part()

    def _check_timeline(self) -> None:
        lost = self._timeline.step_ended() if self._timeline is not None else None
        if lost is not None:
            self._around.recorder.note(
                WARNING,
                "timeline-lost",
                f"window {self._number}: lines were not followed all the time: {lost}",
            )

    def on_its_thread(self) -> bool:
        """Whether the calling thread is the one the window was opened on."""
        return threading.get_ident() == self._thread

    def ask_to_close(self, reason: str) -> None:
        """Have the stepping thread close the window at its next user line or module call."""
        if self._asked or self._timeline is None:
            return
        self._asked = True

        def close() -> None:
            self._asked = False
            if may_synchronize():
                self._please_close(reason)

        self._timeline.call_soon(close, self._thread, (module_call(),))

    def _open_nvml(self) -> None:
        try:
            self._nvml = Nvml.open()
        except NvmlUnavailable as error:
            self._around.recorder.note(INFO, "no-samples", f"the GPU was not sampled: {error}")

    def _start_trace(self) -> None:
        watch, recorder = self._around.watch, self._around.recorder
        if watch.busy():
            recorder.note(
                WARNING,
                "profiler-busy",
                "the program runs a torch profiler of its own, which is left alone: "
                "no operators and kernels were recorded, only lines and device samples",
            )
            return
        # Kineto belongs to the thread that loaded torch: prepared on another it logs errors to the program's
        # standard error, and beside a third it can take the process down.
        if threading.current_thread() is not threading.main_thread():
            recorder.note(
                WARNING,
                "other-thread",
                "steps are made by a thread other than the main one: "
                "no operators and kernels were recorded, only lines and device samples",
            )
            return
        trace = Trace(self._around.settings.light)
        try:
            with watch.ours():
                trace.start()
        except RuntimeError as error:
            recorder.note(
                WARNING, "trace-lost", f"torch's profiler did not start, so there are only lines: {error}"
            )
            return
        self._trace = trace
        for text in trace.notes:
            recorder.note(INFO, "trace-partial", text)

    def _stop_trace(self, *, ending: bool = False) -> Trace | None:
        trace, self._trace = self._trace, None
        if trace is not None:
            with self._around.watch.ours():
                trace.stop(ending=ending)
        return trace

    def _drop_trace(self, why: str) -> Trace | None:
        """Stopping Kineto would wait for the GPU without end."""
        self._trace = None
        cupti.withdraw()
        self._around.recorder.note(WARNING, "trace-lost", f"{why}: its records are lost")
        return None

    def _export(self, trace: Trace | None) -> str | None:
        if trace is None:
            return None
        rank, recorder = self._around.rank.rank, self._around.recorder
        path = Path(self._around.settings.folder) / trace_name(rank, recorder.pid, self._number)
        try:
            trace.export(path)
        except (OSError, RuntimeError) as error:
            recorder.note(WARNING, "trace-lost", f"the trace of window {self._number} is lost: {error}")
            return None
        return path.name

    def _start_timeline(self) -> Method:
        assert self._timeline is not None
        try:
            self._timeline.start()
        except Unavailable as error:
            self._timeline = None
            self._around.recorder.note(WARNING, "no-timeline", f"no line has a cost: {error}")
            return Method.NONE
        return native_method()

    def _store_loaded_sources(self) -> None:
        user_code = self._around.user_code
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            # Some of torch's modules name a file that never was.
            if isinstance(file, str) and user_code.holds_file(file) and user_code.absolute(file).is_file():
                self._around.sources.number(file)

    def _tick(self) -> None:
        if self._nvml is not None:
            self._samples.append(self._nvml.sample())
        self._layers.flush()
        for events in self._buffers.flush():
            if self._hot.look(events) and self._timeline is not None:
                self._timeline.mute(self._hot)
        if perf_counter_ns() > self._deadline_ns:
            self.ask_to_close(f"it had lasted {self._around.settings.seconds:g} s")
        elif self._buffers.written + self._layers.written > MAX_EVENTS:
            self.ask_to_close("its events filled their share of the disk")

    def _note_hot_lines(self) -> None:
        if self._hot.lines:
            where = self._hot.describe(self._buffers.codes)
            self._around.recorder.note(
                WARNING,
                "hot-lines",
                f"{where}: run too often to be followed each time: {self._told_instead()}",
            )

    def _told_instead(self) -> str:
        if native_method() is Method.MONITORING:
            return "their time is told by the first pass of a step and by samples"
        return "functions that do nothing else have their time on the line that runs most often"

    def _ticking_failed(self, error: Exception) -> None:
        self._around.recorder.note(WARNING, "samples-lost", f"device samples end early: {error!r}")


def native_method() -> Method:
    return Method.MONITORING if sys.version_info >= (3, 12) else Method.SETTRACE


def make_timeline(buffers: Buffers, user_code: UserCode) -> Timeline:
    if sys.version_info >= (3, 12):
        from warplint.capture.lines.monitoring import MonitoringTimeline

        return MonitoringTimeline(buffers, user_code)
    from warplint.capture.lines.settrace import SettraceTimeline

    return SettraceTimeline(buffers, user_code)
