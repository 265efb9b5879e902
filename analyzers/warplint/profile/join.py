"""Joins a raw capture folder into costs per line.

One process is shown, that of the lowest rank; what the others did is said in a note. Several windows of the
process are summed, where its steps were alike (steps/regimes.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from warplint.capture.layout import RAW_SUFFIX, LayoutError, RunManifest
from warplint.profile import notes
from warplint.profile.attribution.captured_graphs import CapturedGraphs
from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.compiled import CompiledLines
from warplint.profile.attribution.graphs import ReplayedLines
from warplint.profile.attribution.host_calls import HostCalls
from warplint.profile.attribution.inner_lines import InnerLines
from warplint.profile.attribution.loader import LoaderCosts, read_loader, with_workers
from warplint.profile.attribution.window_trace import read_window_trace
from warplint.profile.kineto.clock import ClockError
from warplint.profile.kineto.trace import Trace, TraceError
from warplint.profile.model import CapturedSource, Profile
from warplint.profile.names.layers import LayerTimeline
from warplint.profile.raw.process import RawProcess, RawWindow, WindowClose, read_process
from warplint.profile.root_relative import root_relative
from warplint.profile.sections.compilation import graph_breaks, recompilations
from warplint.profile.sections.device_readings import device_readings
from warplint.profile.sections.window_price import WindowPrice
from warplint.profile.steps.ends import StepRange, StepTimes
from warplint.profile.steps.gpu_steps import gpu_steps
from warplint.profile.steps.regimes import step_history, unix_minus_host_ns
from warplint.profile.timeline import NOWHERE, Places, Timeline
from warplint.profile.totals.own_time import discount_capture
from warplint.profile.totals.tally import LineKey, Tally
from warplint.profile.totals.window import tally_device, tally_host

_RANK_AND_PID = re.compile(r"rank(\d+)\.(\d+)")


def raw_files(folder: Path) -> list[Path]:
    """The folder's raw files, by rank, then process id."""

    def order(path: Path) -> tuple[int, int, str]:
        match = _RANK_AND_PID.match(path.name)
        return (int(match[1]), int(match[2]), path.name) if match else (1 << 62, 0, path.name)

    return sorted(folder.glob(f"*{RAW_SUFFIX}"), key=order)


def join(folder: Path) -> Profile:
    """Join a capture folder. Raises LayoutError when it is no capture or nothing in it can be read."""
    manifest = RunManifest.read(folder)
    said = list(manifest.notes)
    processes = _read_processes(folder, said)
    shown = _to_show(processes)
    said.extend(notes.other_processes(shown.path, [each.path for each in processes if each is not shown]))
    return _ProcessJoin(folder, manifest, shown, said).profile()


def _read_processes(folder: Path, said: list[str]) -> list[RawProcess]:
    """Every readable raw file of the folder; what cannot be read is added to ``said``."""
    files = raw_files(folder)
    if not files:
        raise LayoutError(
            f"{folder} holds no captured process: the command ran no Python that could be captured"
        )
    processes: list[RawProcess] = []
    for path in files:
        process = _read_or_say(path, said)
        if process is not None:
            processes.append(process)
    if not processes:
        raise LayoutError(said[-1])
    return processes


def _read_or_say(path: Path, said: list[str]) -> RawProcess | None:
    try:
        return read_process(path)
    except LayoutError as error:
        said.append(str(error))
        return None


def _to_show(processes: list[RawProcess]) -> RawProcess:
    """The first process that finished a window, else the first that opened one, else the first."""
    for wanted in (_finished_a_window, lambda process: bool(process.windows)):
        found = next(filter(wanted, processes), None)
        if found is not None:
            return found
    return processes[0]


def shown_process(folder: Path) -> RawProcess:
    """The process that a capture's costs are of. Raises LayoutError."""
    return _to_show(_read_processes(folder, []))


def _finished_a_window(process: RawProcess) -> bool:
    return any(window.close is not None for window in process.windows)


@dataclass(slots=True)
class _JoinedWindow:
    raw: RawWindow
    trace: Trace | None
    tally: Tally


class _ProcessJoin:
    """Joins one process's windows."""

    def __init__(self, folder: Path, manifest: RunManifest, process: RawProcess, said: list[str]) -> None:
        self.folder, self.manifest, self.process, self.said = folder, manifest, process, said
        self.places = Places(process)
        self.graphs = CapturedGraphs(folder, process.graphs, self.places)
        self.prices: list[WindowPrice] = []
        self.history = step_history(process)
        self.files = {
            source.identifier: root_relative(source.path, manifest.root)
            for source in process.sources.values()
        }

    def profile(self) -> Profile:
        self.said.extend(self.process.notes)
        joined = self._windows()
        on_gpu = any(window.trace is not None and len(window.trace.work) for window in joined)
        whole = Tally()
        for window in joined:
            whole.add(window.tally)
        loader = self._loader()
        totals = whole.to_totals(on_gpu)
        described = self.process.process
        totals.device = self._device(joined, whole) if on_gpu else "cpu"
        totals.driver = str(described.get("driver") or "")
        totals.torch = str(described.get("torch") or "")
        self.said.extend(notes.doubts(whole.doubts))
        return Profile(
            name=self.folder.absolute().name,
            command=list(self.manifest.command),
            totals=totals,
            lines=with_workers(whole.to_lines(on_gpu), loader.lines),
            sources=loader.sources
            | {
                self.files[source.identifier]: CapturedSource(
                    self.files[source.identifier], source.digest, source.text
                )
                for source in self.process.sources.values()
            },
            notes=self.said,
            windows=self._prices(joined),
            loader=loader.lines,
            loaders=loader.loaders,
            felt=whole.felt.waits(loader.dearest),
            device_readings=device_readings(self.process.samples),
            fused=whole.fused.shares(),
            graph_breaks=graph_breaks(self.process.compilation.graph_breaks, self.manifest.root),
            recompilations=recompilations(self.process.compilation.recompilations, self.manifest.root),
            layers=whole.named.layers.costs(self.manifest.root),
            kernel_groups=whole.named.groups.groups(whole.wall_ns),
            tiny_copies=whole.named.copies.many(whole.steps),
            steps=self.history.points(),
            change_points=self.history.changes(unix_minus_host_ns(self.process)),
        )

    def _loader(self) -> LoaderCosts:
        described, windows = self.process.process, self.process.windows
        opened = [(window.open_ns, window.close.t_ns) for window in windows if window.close is not None]
        rank, pid = (int(described.get(key) or 0) for key in ("rank", "pid"))
        return read_loader(self.folder, rank, pid, self.manifest.root, opened, self.said)

    def _windows(self) -> list[_JoinedWindow]:
        joined = [
            self._finished(window, window.close)
            for window in self.process.windows
            if window.close is not None
        ]
        unfinished = [window for window in self.process.windows if window.close is None]
        run_ended = self.manifest.finished is not None
        for window in unfinished:
            self.said.append(notes.open_window(window.number, run_ended, self.process.lost_bytes))
        if not unfinished and not self.process.ended:
            self.said.append(notes.unended(run_ended))
        # Windows whose GPU records are lost would count as if the GPU had not been there.
        device = [window for window in joined if window.trace is not None and len(window.trace.work)]
        return self._of_latest_steps(device or joined or [self._unfinished(window) for window in unfinished])

    def _of_latest_steps(self, windows: list[_JoinedWindow]) -> list[_JoinedWindow]:
        """Those to be summed. What a line costs a step is another figure where steps are others."""
        latest = self.history.latest([window.raw for window in windows])
        shown = [window for window in windows if window.raw in latest]
        others = [window.raw for window in windows if window.raw not in latest]
        self.said.extend(notes.other_steps(latest, others, self.history))
        return shown

    def _prices(self, summed: list[_JoinedWindow]) -> list[WindowPrice]:
        numbers = {window.raw.number for window in summed}
        return [each if each.window in numbers else replace(each, steps=0) for each in self.prices]

    def _finished(self, window: RawWindow, close: WindowClose) -> _JoinedWindow:
        ends_ns = self.process.step_ends_ns
        steps = StepRange.within(window.open_ns, close.t_ns, ends_ns)
        timeline, thread = Timeline(window, self.places), self._stepping_thread(window)
        trace = self._trace(window.number, close)
        layers = LayerTimeline(window)
        times = StepTimes(window.open_ns, close.t_ns, ends_ns, close.lead_in)
        self.prices.append(times.price(window.number, close.price))
        on_gpu = trace is not None and len(trace.work) > 0
        self.said.extend(self.prices[-1].sentences(on_gpu))
        if trace is None or not on_gpu:
            tally = tally_host(timeline, thread, steps, self._key)
            tally.named.layers = layers.tally(steps.begin_ns, steps.end_ns)
            if trace is not None:
                tally.felt.add_data(trace, timeline, thread, steps, self._key)
            return _JoinedWindow(window, trace, tally)
        charger = Charger(trace, timeline, thread)
        compiled = CompiledLines(trace, self.process.compilation.graphs, self.places)
        self.graphs.take_window(window.number, trace, charger)
        inner = InnerLines(compiled, ReplayedLines(trace, window.replays, self.graphs.launches))
        host = HostCalls(trace, charger, inner)
        worked = gpu_steps(steps, zip(host.launched_ns(trace), trace.work.start, trace.work.end, strict=True))
        self.said.extend(notes.ran_ahead(window.number, steps, worked))
        tally = tally_device(trace, timeline, charger, host, steps, self._key, layers, worked)
        discount_capture(tally, self.prices[-1])
        return _JoinedWindow(window, trace, tally)

    def _trace(self, window: int, close: WindowClose) -> Trace | None:
        if close.trace is None:
            return None
        try:
            trace, clock = read_window_trace(self.folder, close.trace, close)
        except (TraceError, ClockError) as error:
            self.said.append(notes.trace_lost(window, close.trace, str(error)))
            return None
        self.said.append(notes.clock(window, clock))
        return trace

    def _unfinished(self, window: RawWindow) -> _JoinedWindow:
        """A window the process died in: only where the stepping thread was."""
        timeline, thread = Timeline(window, self.places), self._stepping_thread(window)
        last = max(timeline.thread(thread).times, default=window.open_ns)
        steps = StepRange.within(window.open_ns, last, self.process.step_ends_ns)
        return _JoinedWindow(window, None, tally_host(timeline, thread, steps, self._key))

    def _stepping_thread(self, window: RawWindow) -> int:
        """The thread that makes the steps: as capture says, else the one with most line events."""
        if window.close is not None and window.close.main_thread is not None:
            return window.close.main_thread
        return max(window.lines, key=lambda thread: len(window.lines[thread]), default=0)

    def _key(self, place: int) -> LineKey | None:
        if place == NOWHERE:
            return None
        found = self.places.all[place]
        file = self.files.get(found.source)
        return None if file is None else (file, found.line)

    def _device(self, joined: list[_JoinedWindow], whole: Tally) -> str:
        for window in joined:
            for number in sorted(whole.doubts.devices):
                if window.trace is not None and number in window.trace.devices:
                    return window.trace.devices[number]
        return str(self.process.process.get("device") or "unknown GPU")
