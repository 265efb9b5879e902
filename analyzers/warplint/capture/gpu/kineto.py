"""The only file that touches ``torch.profiler``: Kineto's trace of one window, and who else is using it."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter_ns
from types import FunctionType
from typing import Any

import torch

from warplint.capture.gpu import cupti
from warplint.capture.patches import Patches

MARKER = "warplint.sync"
OPENING_MARKERS = 3
"""Markers made at once at either end of a window: the first passage through the code is slow."""

LOG_LEVEL_SYMBOL = "_ZN9libkineto6Logger14severityLevel_E"
SILENT = 99


class Trace:
    """One trace, from ``start`` to ``stop``, on the calling thread.

    A light one holds what CUDA did and was asked to, and no CPU operators or markers.
    """

    def __init__(self, light: bool = False) -> None:
        self._profile: Any = None
        self._light = light and cuda_in_use()
        self._marks = 0
        self.markers: list[tuple[int, int, int]] = []
        """``(index, before_ns, after_ns)`` around the record of that index in the trace."""
        self.clock: list[tuple[int, int, int]] = []
        """``(perf_before_ns, unix_ns, perf_after_ns)``: one instant on both of the host's clocks."""
        self.threads: dict[int, int] = {}
        """Where the trace has ``pthread_t`` in place of native thread ids: from the one to the other."""
        self.notes: list[str] = []
        """What the trace lacks, in sentences."""

    def start(self) -> None:
        settle_device()
        cupti.ask_to_detach()
        try:
            self._start_profile()
        except BaseException:
            cupti.withdraw()
            raise

    def _start_profile(self) -> None:
        from torch.profiler import profile

        started = profile(activities=self._activities(), experimental_config=self._config())
        # Kineto reads its log level when it is first prepared, and what it logs goes to standard error.
        _call_alone(started, "prepare_trace")
        if _log_level() is None:
            self.notes.append("Kineto's own log lines could not be kept off standard error")
        with _quiet_kineto():
            _call_alone(started, "start_trace")
        self._profile = started
        self._learn_threads()
        for _ in range(OPENING_MARKERS):
            self.mark()

    def mark(self) -> None:
        # Not torch.autograd.profiler.record_function, which function and dispatch modes of the program's see.
        # Told before it is made: a signal may keep one from being noted.
        index, self._marks = self._marks, self._marks + 1
        record = torch._C._profiler._RecordFunctionFast(f"{MARKER}#{index}")
        before = perf_counter_ns()
        with record:
            pass
        after = perf_counter_ns()
        self.markers.append((index, before, after))
        self.clock.append((perf_counter_ns(), time.time_ns(), perf_counter_ns()))

    def stop(self, *, ending: bool = False) -> None:
        """``ending``: the program is, and has no use for a tracer that lets go of it."""
        self._learn_threads()
        if ending:
            cupti.withdraw()
        try:
            for _ in range(OPENING_MARKERS):
                self.mark()
            with _quiet_kineto():
                self._profile.stop_trace()
        finally:
            cupti.withdraw()

    def export(self, path: Path) -> None:
        """Write Chrome trace JSON under a temporary name, then rename. Raises OSError."""
        part = path.with_name(f"part.{path.name}")
        with _quiet_kineto():
            self._profile.export_chrome_trace(str(part))
        self._profile = None
        part.replace(path)

    def _learn_threads(self) -> None:
        """Kineto learns the native ids of threads from their CPU operators, and a light trace has none."""
        if self._light:
            self.threads |= {
                each.ident: each.native_id
                for each in threading.enumerate()
                if each.ident is not None and each.native_id is not None
            }

    def _activities(self) -> list[Any]:
        from torch.profiler import ProfilerActivity

        if self._light:
            return [ProfilerActivity.CUDA]
        return [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda_in_use() else [])]

    def _config(self) -> Any:
        from torch._C._profiler import _ExperimentalConfig

        try:
            return _ExperimentalConfig(profile_all_threads=True)
        except TypeError:
            self.notes.append("this torch records CPU operators of the stepping thread only")
            return _ExperimentalConfig()


def _call_alone(started: Any, name: str) -> None:
    """Call that method without the warning and the imports that come with it.

    Torch 2.10 to 2.12 warn, in the first cycle, of a second. ``acc_events=True`` would keep them quiet too,
    and make stopping twenty times as dear (20,000 operators: 11.2 s, not 0.6 s), since torch then makes a
    Python object of every event. A filter of ``warnings`` would make Python forget which warnings the program
    has had, and print them once more.

    Torch also asks whether it has ``_inductor`` (2.4 in ``start_trace``, 2.13 in ``prepare_trace``), which
    imports it: 900 modules, and two seconds, where the program compiles nothing and has no optimizer.

    So a function of torch's gets globals of our own. One that the program has put there does not: what it
    writes to its own globals would be lost.
    """
    function = getattr(type(started), name)
    if not isinstance(function, FunctionType) or function.__globals__ is not vars(torch.profiler.profiler):
        getattr(started, name)()
        return
    ours: dict[str, Any] = {"_warn_once": lambda *args, **kwargs: None}
    if "torch._inductor" not in sys.modules:
        ours["torch"] = _WithoutInductor()
    scope = {**function.__globals__, **ours}
    defaults, closure = function.__defaults__, function.__closure__
    FunctionType(function.__code__, scope, function.__name__, defaults, closure)(started)


class _WithoutInductor:
    """``torch`` as it is, but for the part that it would import when asked for."""

    def __getattr__(self, name: str) -> Any:
        if name == "_inductor":
            raise AttributeError(name)
        return getattr(torch, name)


def settle_device() -> None:
    """Wait for the GPU's queue, so that a window's records are of its own launches."""
    if cuda_in_use():
        torch.cuda.synchronize()


def why_unsettled(seconds: float, *, ending: bool = False) -> str | None:
    """Wait for the GPU's queue, but no longer: None when it is empty, else a phrase.

    A dead rank's queue may hold a collective that never ends. ``ending``: the program is.
    """
    if not cuda_in_use():
        return None
    settled = _thread.allocate_lock()
    settled.acquire()
    device = torch.cuda.current_device()

    def wait() -> None:
        # An error of the device is for the program to meet, at its own next call.
        with contextlib.suppress(RuntimeError):
            torch.cuda.synchronize(device)
        settled.release()

    try:
        _thread.start_new_thread(wait, ())
    except RuntimeError as error:
        if not ending:
            return f"no thread could be started to wait for the GPU ({error})"
        # Python 3.12.0 and 3.12.1 start no thread at exit, where CUDA itself waits without end.
        wait()
    return None if settled.acquire(timeout=seconds) else f"the GPU was not done within {seconds:g} s"


def cuda_in_use() -> bool:
    """Whether the program has started CUDA. Asking anything further before that would start it."""
    return bool(torch.cuda.is_initialized())


def may_synchronize() -> bool:
    """False while a CUDA graph is captured, when any waiting call would break it."""
    return not cuda_in_use() or not torch.cuda.is_current_stream_capturing()


@contextlib.contextmanager
def _quiet_kineto() -> Iterator[None]:
    level = _log_level()
    if level is None:
        yield
        return
    before, level.value = level.value, SILENT
    try:
        yield
    finally:
        level.value = before


def _log_level() -> ctypes.c_int | None:
    """Kineto's own level variable. Nothing public sets it once the library is loaded."""
    library = Path(torch.__file__).with_name("lib") / "libtorch_cpu.so"
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(str(library)), LOG_LEVEL_SYMBOL)
    except (OSError, ValueError):
        return None


class ProfilerWatch:
    """Knows whether the program itself is using torch's profiler, and gives way when it begins to.

    Two profilers at once cost the first its records, or the process its life. The functions that every
    profiler of torch starts and stops through are therefore watched: module globals of
    ``torch.autograd.profiler``, replaced by functions that call them.
    """

    STARTS = ("_prepare_profiler", "_enable_profiler")
    STOPS = ("_disable_profiler",)

    def __init__(self, on_foreign_start: Callable[[], None]) -> None:
        self._on_foreign_start = on_foreign_start
        self._patches = Patches(torch.autograd.profiler)
        self._on = False
        self._ours = False
        self.foreign = False
        """Whether the program's own profiler is prepared or running."""

    def install(self) -> None:
        self._on = True
        for name in (*self.STARTS, *self.STOPS):
            self._patches.put(name, functools.partial(self._watched, name in self.STARTS))

    def remove(self) -> None:
        self._on = False
        self._patches.take_all_off()

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """Profiler calls within are our own."""
        self._ours = True
        try:
            yield
        finally:
            self._ours = False

    def busy(self) -> bool:
        return self.foreign or bool(torch.autograd._profiler_enabled())

    def _watched(self, starts: bool, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._on and not self._ours:
                if starts and not self.foreign:
                    self._on_foreign_start()
                self.foreign = starts
            return original(*args, **kwargs)

        return call
