"""Costs from traces that torch.profiler wrote: those of programs that Warplint did not run.

A trace has what the GPU and the host did; it lacks the lines of the user's code, or most of them, the
sources, and what the profiler itself cost the program. What stands in their place is said in the profile's
notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, zip_longest
from pathlib import Path
from typing import TypeVar

from warplint.capture.layout import LayoutError, RunManifest
from warplint.profile import notes
from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.host_calls import HostCalls
from warplint.profile.imported import notes as imported_notes
from warplint.profile.imported.notes import RankFile
from warplint.profile.kineto.calls import STARTS_GPU_WORK, numbers_of_kind
from warplint.profile.kineto.lines import STEP, find_code, host_lines
from warplint.profile.kineto.mend import mend
from warplint.profile.kineto.nesting import thread_nestings
from warplint.profile.kineto.reader import read_header, read_partial_trace
from warplint.profile.kineto.slices import Slice, slices
from warplint.profile.kineto.trace import Trace, TraceError, spans_named
from warplint.profile.model import CapturedSource, Profile
from warplint.profile.raw.process import RawWindow
from warplint.profile.second_process import SecondProcess
from warplint.profile.steps.ends import StepRange
from warplint.profile.timeline import NOWHERE, Places, Timeline
from warplint.profile.totals.tally import LineKey, Tally
from warplint.profile.totals.window import tally_device, tally_host

Read = TypeVar("Read")

CATEGORIES_NAMED = 5
"""How many of a foreign trace's categories are named."""


def by_rank(paths: Sequence[Path]) -> list[RankFile]:
    """By rank, where they say it, each file once. Looks into each, so that a wrong one is refused before any
    is read.

    Raises TraceError, with the path in its message.
    """
    named = _each_once(paths)
    # Of one file nothing is compared; it may be a pipe, which can be read once.
    several = len(named) > 1
    found = [RankFile(path, _rank_of(path) if several else None, times) for path, times in named]
    return sorted(found, key=lambda file: (file.rank is None, file.rank))


def _each_once(paths: Sequence[Path]) -> list[tuple[Path, int]]:
    """The files, whatever they are called, each by its first name and with how often it was named."""
    found: dict[object, tuple[Path, int]] = {}
    for path in paths:
        try:
            status = path.stat()
            file: object = (status.st_dev, status.st_ino)
        except OSError:
            file = path
        first, times = found.get(file, (path, 0))
        found[file] = first, times + 1
    return list(found.values())


def import_traces(files: Sequence[RankFile], root: Path) -> Profile:
    """The costs of the first; what is said of the others. ``root`` is the project's.

    Raises TraceError, with the path in its message.
    """
    shown = files[0]
    trace = _named(shown.path, _read)
    mended = mend(trace)
    profile = _Import(trace, [root, Path.cwd()]).profile()
    profile.command = ["warplint", "import", *(str(file.path) for file in files)]
    reading = [*imported_notes.reading(shown.path, trace), *imported_notes.other_files(shown, files[1:])]
    profile.notes[:0] = reading
    profile.notes.extend(imported_notes.mended(mended))
    return profile


def read_import(path: Path) -> Trace:
    """A trace to be imported, with what it lacks made up. Raises TraceError, with the path in its message."""
    trace = _named(path, _read)
    mend(trace)
    return trace


def join_imported(folder: Path, manifest: RunManifest) -> Profile:
    """Import anew what a capture was made from. Raises LayoutError when that is gone or has changed."""
    for trace, size in manifest.imported.items():
        path = Path(trace)
        if not path.is_file() or path.stat().st_size != size:
            raise LayoutError(
                f"{folder} was imported by another release of Warplint; {trace} has gone or changed since"
            )
    try:
        profile = import_traces(by_rank([Path(trace) for trace in manifest.imported]), Path(manifest.root))
    except TraceError as error:
        raise LayoutError(str(error)) from None
    profile.name = folder.absolute().name
    return profile


def _rank_of(path: Path) -> int | None:
    info = _named(path, read_header).get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if isinstance(rank, int) else None


def _named(path: Path, read: Callable[[Path], Read]) -> Read:
    """Read a file; its path goes before what is wrong with it."""
    if path.is_dir():
        raise TraceError(f"{path} is a folder: name the traces in it")
    try:
        return read(path)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


def _read(path: Path) -> Trace:
    trace = read_partial_trace(path)
    if len(trace.operators) or len(trace.calls) or len(trace.work) or len(trace.annotations):
        return trace
    raise TraceError(_of_no_use(path, trace))


def _of_no_use(path: Path, trace: Trace) -> str:
    """Why a trace that was read has nothing in it."""
    if trace.cut is not None:
        return f"nothing in it can be used: {trace.cut.reason}, {imported_notes.where(path, trace.cut)}"
    first = trace.first_malformed
    if first is not None:
        return f"none of its events can be read, from {imported_notes.where(path, first)}: {first.reason}"
    if not trace.events:
        return "it holds no events"
    named = ", ".join(sorted(trace.other_categories)[:CATEGORIES_NAMED])
    categories = f"their categories are {named}" if named else "they have no categories"
    return f"none of its {trace.events:,} events is torch.profiler's: {categories}"


@dataclass(frozen=True, slots=True)
class Extent:
    """The time that counts: from the first of steps and GPU work to the last. ``steps`` are their starts."""

    begin: int
    end: int
    steps: Sequence[int]


class _Import:
    """Joins one trace."""

    def __init__(self, trace: Trace, roots: Sequence[Path]) -> None:
        self.trace = trace
        self.detail, self.code = find_code(trace, roots)
        self.places = Places(self.code.process)
        self.on_gpu = len(trace.work) > 0
        self.thread = stepping_thread(trace)
        self.extent = extent(trace, self.thread)

    def profile(self) -> Profile:
        whole = Tally()
        for tally in self._tallies():
            whole.add(tally)
        totals = whole.to_totals(self.on_gpu)
        totals.device = self._device(whole) if self.on_gpu else "cpu"
        return Profile(
            name="",
            command=[],
            totals=totals,
            lines=whole.to_lines(self.on_gpu),
            kernel_groups=whole.named.groups.groups(whole.wall_ns),
            tiny_copies=whole.named.copies.many(whole.steps),
            sources={
                self.code.files[number]: CapturedSource(self.code.files[number], source.digest, source.text)
                for number, source in self.code.process.sources.items()
            },
            notes=[
                *imported_notes.places(self.detail, self.code, self.trace.cut is not None),
                *notes.doubts(whole.doubts),
            ],
        )

    def _tallies(self) -> Iterator[Tally]:
        """Of the slices, in their order; every other one is joined in a second process."""
        parts = list(slices(self.trace, self.extent.begin, self.extent.end, self.extent.steps))
        if len(parts) == 1:
            yield self._tally(parts[0])
            return
        with SecondProcess(lambda: map(self._tally, parts[1::2])) as second:
            mine = [self._tally(part) for part in parts[::2]]
            for own, other in zip_longest(mine, second.made()):
                yield own
                if other is not None:
                    yield other

    def _tally(self, piece: Slice) -> Tally:
        trace = piece.cut()
        operators = thread_nestings(trace.operators)
        lines = host_lines(trace, self.detail, self.code, operators)
        window = RawWindow(1, piece.begin, lines=lines)
        timeline = Timeline(window, self.places)
        starts = (start for start in self.extent.steps if piece.begin <= start < piece.end)
        steps = StepRange(piece.begin, piece.end, piece.steps, (*starts, piece.end))
        if not self.on_gpu:
            return tally_host(timeline, self.thread, steps, self._key)
        charger = Charger(trace, timeline, self.thread)
        host = HostCalls(trace, charger, operators=operators)
        return tally_device(trace, timeline, charger, host, steps, self._key)

    def _key(self, place: int) -> LineKey | None:
        if place == NOWHERE:
            return None
        found = self.places.all[place]
        return self.code.files[found.source], 0 if found.source in self.code.named else found.line

    def _device(self, whole: Tally) -> str:
        for number in sorted(whole.doubts.devices):
            if self.trace.devices.get(number):
                return self.trace.devices[number]
        # HIP_VISIBLE_DEVICES hides GPUs from the list, but not their numbers.
        names = set(filter(None, self.trace.devices.values()))
        if len(names) == 1:
            return names.pop()
        if any(text.startswith("hip") for text in self.trace.names.texts):
            return "AMD GPU"
        return "unknown GPU"


def stepping_thread(trace: Trace) -> int:
    """The thread that makes the steps; without steps the one that launches most, else that runs most
    operators."""
    annotations = trace.annotations
    steps = Counter(annotations.thread[index] for index in spans_named(trace, annotations, (STEP,)))
    if steps:
        return _commonest(steps)
    launching = numbers_of_kind(trace.names.texts, STARTS_GPU_WORK)
    backward = {
        thread
        for thread, number in zip(trace.operators.thread, trace.operators.forward_thread, strict=True)
        if number > 0
    }
    launches = Counter(
        thread
        for thread, name in zip(trace.calls.thread, trace.calls.name, strict=True)
        if name in launching and thread not in backward
    )
    for counts in (launches, Counter(trace.operators.thread), Counter(annotations.thread)):
        if counts:
            return _commonest(counts)
    return 0


def _commonest(threads: Counter[int]) -> int:
    return max(threads, key=lambda thread: (threads[thread], -thread))


def extent(trace: Trace, thread: int) -> Extent:
    """With steps: they, and what the GPU was given and did beside them. Without: all that was recorded.

    So every kernel counts, and the profiler's own start and end do not. ``thread`` makes the steps.
    """
    annotations, calls, work = trace.annotations, trace.calls, trace.work
    steps = [
        index for index in spans_named(trace, annotations, (STEP,)) if annotations.thread[index] == thread
    ]
    launching = numbers_of_kind(trace.names.texts, STARTS_GPU_WORK)
    bounds = [_bounds(work.start, work.end)]
    if steps:
        given = [name in launching for name in calls.name]
        bounds.append(_bounds([annotations.start[i] for i in steps], [annotations.end[i] for i in steps]))
        bounds.append(_bounds(list(compress(calls.start, given)), list(compress(calls.end, given))))
    else:
        bounds += [_bounds(spans.start, spans.end) for spans in (trace.operators, annotations, calls)]
    known = [each for each in bounds if each is not None]
    begin, end = min(begin for begin, _ in known), max(end for _, end in known)
    return Extent(begin, max(end, begin + 1), sorted({annotations.start[index] for index in steps}))


def _bounds(starts: Sequence[int], ends: Sequence[int]) -> tuple[int, int] | None:
    return (min(starts), max(ends)) if starts else None
