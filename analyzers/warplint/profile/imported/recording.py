"""What a capture's raw files hold over time: what exports of a timeline need beside the store's sums."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from warplint.capture.layout import RAW_SUFFIX, LayoutError, RunManifest
from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.window_trace import read_window_trace
from warplint.profile.imported.costs import by_rank, extent, read_import, stepping_thread
from warplint.profile.join import shown_process
from warplint.profile.kineto.clock import ClockError
from warplint.profile.kineto.lines import find_code, host_lines
from warplint.profile.kineto.trace import Trace, TraceError
from warplint.profile.names.layers import LayerTimeline, describe
from warplint.profile.raw.process import RawProcess, RawWindow, WindowClose
from warplint.profile.root_relative import root_relative
from warplint.profile.timeline import NOWHERE, Places, Timeline

Line = tuple[str, int]
"""File as in ``LineCost``, and line. Line 0: the file stands for something that has no lines."""


@dataclass(frozen=True, slots=True)
class RecordedWindow:
    """A stretch of time with everything on. All times are nanoseconds on one clock of the recording."""

    begin_ns: int
    end_ns: int
    boundaries_ns: Sequence[int]
    """Where one step ends and the next begins, in order."""
    stepping_thread: int
    timeline: Timeline
    layers: LayerTimeline | None
    trace: Trace
    """Empty where nothing but lines was recorded."""
    line_of: Callable[[int], Line | None]
    """A place of the timeline to its line."""

    def charger(self) -> Charger:
        return Charger(self.trace, self.timeline, self.stepping_thread)

    def layer_name(self, number: int) -> str:
        """``encoder.0.linear1: Linear[1024x2048] bias batch=64 bf16``."""
        layer = self.layers.names.get(number) if self.layers is not None else None
        return "a layer without a name" if layer is None else f"{layer.path}: {describe(layer)}"


@dataclass(frozen=True, slots=True)
class Recording:
    """Of one process."""

    process: str
    """What it is called."""
    windows: list[RecordedWindow]


def read_recording(folder: Path) -> Recording:
    """Read a capture's raw files, or the traces it was imported from, again.

    Raises LayoutError when they are gone, or cannot be read.
    """
    manifest = RunManifest.read(folder)
    if manifest.imported:
        return _imported(folder, manifest)
    if not any(folder.glob(f"*{RAW_SUFFIX}")):
        raise LayoutError(f"{folder} has no timeline any more: its raw files are gone")
    process = shown_process(folder)
    places = Places(process)
    files = {
        source.identifier: root_relative(source.path, manifest.root) for source in process.sources.values()
    }

    def line_of(place: int) -> Line | None:
        found = places.all[place]
        return None if place == NOWHERE or found.source not in files else (files[found.source], found.line)

    windows = [
        _window(folder, process, raw, raw.close, places, line_of)
        for raw in process.windows
        if raw.close is not None
    ]
    if not windows:
        raise LayoutError(f"{folder} has no timeline: no window was finished")
    described = process.process
    name = f"rank {described.get('rank', 0)}, process {described.get('pid', '?')}"
    return Recording(name, windows)


def _window(
    folder: Path,
    process: RawProcess,
    raw: RawWindow,
    close: WindowClose,
    places: Places,
    line_of: Callable[[int], Line | None],
) -> RecordedWindow:
    ends = process.step_ends_ns
    inside = ends[bisect.bisect_left(ends, raw.open_ns) : bisect.bisect_right(ends, close.t_ns)]
    thread = close.main_thread
    if thread is None:
        thread = max(raw.lines, key=lambda thread: len(raw.lines[thread]), default=0)
    return RecordedWindow(
        begin_ns=raw.open_ns,
        end_ns=close.t_ns,
        boundaries_ns=inside,
        stepping_thread=thread,
        timeline=Timeline(raw, places),
        layers=LayerTimeline(raw),
        trace=_trace(folder, close),
        line_of=line_of,
    )


def _trace(folder: Path, close: WindowClose) -> Trace:
    if close.trace is None:
        return Trace()
    try:
        return read_window_trace(folder, close.trace, close)[0]
    except (TraceError, ClockError) as error:
        raise LayoutError(f"{folder / close.trace} cannot be read again: {error}") from None


def _imported(folder: Path, manifest: RunManifest) -> Recording:
    for path, size in manifest.imported.items():
        if not Path(path).is_file() or Path(path).stat().st_size != size:
            raise LayoutError(f"{folder} has no timeline any more: {path} has gone or changed since")
    shown = by_rank([Path(path) for path in manifest.imported])[0]
    try:
        trace = read_import(shown.path)
    except TraceError as error:
        raise LayoutError(str(error)) from None
    detail, code = find_code(trace, [Path(manifest.root), Path.cwd()])
    places, thread = Places(code.process), stepping_thread(trace)
    within = extent(trace, thread)

    def line_of(place: int) -> Line | None:
        if place == NOWHERE:
            return None
        found = places.all[place]
        return code.files[found.source], 0 if found.source in code.named else found.line

    raw = RawWindow(1, within.begin, lines=host_lines(trace, detail, code))
    window = RecordedWindow(
        begin_ns=within.begin,
        end_ns=within.end,
        boundaries_ns=array("q", [*within.steps, within.end] if within.steps else []),
        stepping_thread=thread,
        timeline=Timeline(raw, places),
        layers=None,
        trace=trace,
        line_of=line_of,
    )
    return Recording(shown.path.name, [window])
