"""The raw capture folder: names, record format, writer and reader.

The only part of ``capture`` that others may import, and a leaf: standard library only. A folder holds

    run.json               written by the parent: command, root, times, exit status (see ``RunManifest``)
    rank<R>.<pid>.wlraw    one per captured process: framed records, append only
    rank<R>.<pid>.w<N>.trace.json   Kineto's own trace of window N, written under a temporary name and renamed
    rank<R>.<pid>.g<N>.trace.json   the same of the capture of CUDA graph N, where that was outside a window
    rank<R>.<pid>.<worker pid>.wlworker   one per loader worker followed: framed records as in a raw file
    costs.sqlite           made from the above by whoever opens the folder first
    .gitignore             so that captures never reach a repository

A record is ``type (u8), payload length (u32), crc32 of the payload (u32), payload``, little-endian, after an
eight-byte header ``WLRAW`` + NUL + version (u16). A process killed at any moment leaves a file whose
complete records can all be read; the reader says how many bytes after them were lost.
"""

from __future__ import annotations

import enum
import json
import struct
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"WLRAW\0"
VERSION = 1
READABLE_VERSIONS = frozenset({VERSION})
CAPTURES_DIRECTORY = ".warplint"
MANIFEST = "run.json"
STORE = "costs.sqlite"
RAW_SUFFIX = ".wlraw"
WORKER_SUFFIX = ".wlworker"
UNFOLLOWED = "worker-unfollowed"
"""The code of the note, in a loader worker's file, that says why its lines were not followed."""

_HEADER = struct.Struct("<6sH")
_FRAME = struct.Struct("<BII")


class LayoutError(Exception):
    """A capture folder or file that is damaged, foreign, or of a version this release cannot read."""


class Record(enum.IntEnum):
    """The kinds of record in a raw file, with what their payload holds."""

    PROCESS = 1
    """JSON, first, and again when more is known (the device): the last counts. Keys in
    ``docs/capture-format.md``."""
    CODE = 2
    """JSON ``{"id": int, "file": int, "name": str, "first_line": int}``: names the ``code`` of LINES."""
    SOURCE = 3
    """JSON head, newline, zlib of the UTF-8 text: ``{"id": int, "path": str, "digest": str}``; the head's
    ``digest`` is ``SourceText.digest``. ``path`` is absolute as the program saw it."""
    LINES = 4
    """``thread (i64)`` then int64 triples ``(t_ns, code, line)``: from ``t_ns`` on, the innermost user frame
    of that native thread runs ``line`` of ``code``; code 0 means no user frame. Times are
    ``perf_counter_ns``."""
    STEPS = 5
    """int64 pairs ``(index, t_ns)``: step ``index`` ended at ``t_ns``. Kept for the whole run."""
    WINDOW_OPEN = 6
    """JSON ``{"window": int, "t_ns": int, "step": int, "step_kind": str, "reason": str, "start_us": float}``:
    ``step`` is the last that had ended."""
    WINDOW_CLOSE = 7
    """JSON ``{"window", "t_ns", "synced_ns", "step", "reason", "trace": file name or null, "main_thread",
    "lead_in", "counts_ns", "price": {...}, "markers": [...], "clock": [...], "threads": [...]}``: see
    ``docs/capture-format.md``."""
    SAMPLES = 8
    """JSON list of device samples, each with ``t_ns`` and ``source``."""
    NOTE = 9
    """JSON ``{"level": "info"|"warning", "code": str, "text": str}``: what was not captured, and why."""
    END = 10
    """JSON ``{"t_ns": int, "reason": str}``: the process closed its capture in good order."""
    STEP_BUCKETS = 11
    """int64 sextuples ``(index, steps, t_ns, shortest_ns, median_ns, longest_ns)``: the last of so many steps
    was ``index`` and ended at ``t_ns``; what they took. In place of STEPS where a run is long."""
    WORKER = 12
    """JSON, first in a worker's file: which loader worker it is of. Keys in ``docs/capture-format.md``."""
    FETCH = 13
    """JSON: one followed fetch of a loader worker, with the time of its lines."""
    LAYER = 20
    """JSON: what a layer of the program's model is, see ``docs/capture-format.md``. The last of an ``id`` in
    a window counts; LAYER_CALLS may name it before."""
    LAYER_CALLS = 21
    """``thread (i64)`` then int64 pairs ``(t_ns, layer)``: a call of ``layer`` began on that native thread;
    layer 0: the innermost call ended."""
    COMPILED_GRAPH = 30
    """JSON ``{"graph": str or null, "kernels": [[name, [[source, line], …]], …]}``: a compiled graph, with
    the lines that each of its kernels comes from, in launch order."""
    COMPILATION = 31
    """JSON: the run's graph breaks and recompilations so far, the last counts: ``docs/capture-format.md``."""
    CUDA_GRAPH = 32
    """JSON: when a CUDA graph was captured, and by which trace: ``docs/capture-format.md``. The lines of one
    that was captured outside windows come before it."""
    CUDA_REPLAYS = 33
    """JSON ``{"window": int, "replays": [[t_ns, graph], …]}``: which graph was replayed when in a window; 0
    is one of which nothing is known."""


_MANIFEST_KINDS: dict[str, tuple[type, ...]] = {
    "command": (list,),
    "cwd": (str,),
    "root": (str,),
    "started": (int, float),
    "warplint": (str,),
    "format": (str,),
    "version": (int,),
    "finished": (int, float, type(None)),
    "exit_code": (int, type(None)),
    "signal": (int, type(None)),
    "notes": (list,),
    "imported": (dict,),
}
"""What JSON may hold for each field of a RunManifest."""


@dataclass(slots=True)
class RunManifest:
    """``run.json``. Times are Unix seconds; ``root`` is the project root the command ran under."""

    command: list[str]
    cwd: str
    root: str
    started: float
    warplint: str
    format: str = "warplint-capture"
    version: int = VERSION
    finished: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    notes: list[str] = field(default_factory=list)
    imported: dict[str, int] = field(default_factory=dict)
    """Of a capture made by ``warplint import``: the traces it came from, with their bytes; the first is
    shown."""

    def write(self, folder: Path) -> None:
        temporary = folder / (MANIFEST + ".part")
        temporary.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        temporary.replace(folder / MANIFEST)

    @classmethod
    def read(cls, folder: Path) -> RunManifest:
        """Raises LayoutError when the folder is no capture, or not one this release reads."""
        path = folder / MANIFEST
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if not folder.exists():
                raise LayoutError(f"no such folder: {folder}") from None
            raise LayoutError(f"{folder} is not a capture: it has no {MANIFEST}") from None
        except NotADirectoryError:
            raise LayoutError(
                f"{folder} is a file, and a capture is a folder; `warplint import` makes one of a trace"
            ) from None
        except (OSError, ValueError) as error:
            raise LayoutError(f"{path} cannot be read: {error}") from None
        if not isinstance(raw, dict) or raw.get("format") != "warplint-capture":
            raise LayoutError(f"{path} was not written by Warplint")
        if raw.get("version") not in READABLE_VERSIONS:
            raise LayoutError(
                f"{path} has format version {raw.get('version')!r}; "
                f"this release reads {sorted(READABLE_VERSIONS)}"
            )
        known = {name: raw[name] for name in cls.__dataclass_fields__ if name in raw}
        for name, value in known.items():
            if not isinstance(value, _MANIFEST_KINDS[name]) or not _holds_text(value):
                raise LayoutError(f"{path} is damaged: its {name} cannot be {json.dumps(value)[:40]}")
        try:
            return cls(**known)
        except TypeError as error:
            raise LayoutError(f"{path} is incomplete: {error}") from None


def _holds_text(value: object) -> bool:
    return not isinstance(value, list) or all(isinstance(each, str) for each in value)


def newest_first(folders: Iterable[Path]) -> list[Path]:
    """Captures by when they began: the second is in their names, and within one their manifests tell."""
    by_second: dict[str, list[Path]] = {}
    for folder in folders:
        by_second.setdefault(folder.name.partition("-")[0], []).append(folder)
    ordered: list[Path] = []
    for second in sorted(by_second, reverse=True):
        same = by_second[second]
        ordered += sorted(same, key=_moment, reverse=True) if len(same) > 1 else same
    return ordered


def _moment(folder: Path) -> tuple[float, str]:
    """When a capture began, and its name where that is not known."""
    try:
        started = RunManifest.read(folder).started
    except LayoutError:
        started = 0.0
    return started if isinstance(started, int | float) else 0.0, folder.name


def raw_name(rank: int, pid: int) -> str:
    return f"rank{rank}.{pid}{RAW_SUFFIX}"


def worker_name(rank: int, pid: int, worker_pid: int) -> str:
    """``pid`` is that of the captured process, which started the worker."""
    return f"rank{rank}.{pid}.{worker_pid}{WORKER_SUFFIX}"


def trace_name(rank: int, pid: int, window: int) -> str:
    return f"rank{rank}.{pid}.w{window}.trace.json"


def graph_trace_name(rank: int, pid: int, graph: int) -> str:
    return f"rank{rank}.{pid}.g{graph}.trace.json"


class RawWriter:
    """Appends records to a process's raw file; every record is handed to the operating system at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream: BinaryIO = path.open("xb", buffering=0)
        self._stream.write(_HEADER.pack(MAGIC, VERSION))

    def write(self, record: Record, payload: bytes) -> None:
        """Raises OSError (a full disk, say); what was complete before stays readable."""
        frame = _FRAME.pack(record, len(payload), zlib.crc32(payload)) + payload
        view = memoryview(frame)
        while view:
            view = view[self._stream.write(view) :]

    def write_json(self, record: Record, value: object) -> None:
        self.write(record, json.dumps(value, separators=(",", ":")).encode())

    def write_lines(self, thread: int, events: array[int]) -> None:
        """``events`` is a flat array('q') of (t_ns, code, line) triples."""
        self.write(Record.LINES, struct.pack("<q", thread) + _little(events))

    def write_steps(self, events: array[int]) -> None:
        """``events`` is a flat array('q') of (index, t_ns) pairs."""
        self.write(Record.STEPS, _little(events))

    def write_layer_calls(self, thread: int, events: array[int]) -> None:
        """``events`` is a flat array('q') of (t_ns, layer) pairs."""
        self.write(Record.LAYER_CALLS, struct.pack("<q", thread) + _little(events))

    def write_step_buckets(self, buckets: array[int]) -> None:
        """``buckets`` is a flat array('q') of sextuples, see ``Record.STEP_BUCKETS``."""
        self.write(Record.STEP_BUCKETS, _little(buckets))

    def write_source(self, identifier: int, path: str, digest: str, text: str) -> None:
        head = json.dumps({"id": identifier, "path": path, "digest": digest}, separators=(",", ":"))
        body = zlib.compress(text.encode("utf-8", "surrogatepass"), 6)
        self.write(Record.SOURCE, head.encode() + b"\n" + body)

    def close(self) -> None:
        self._stream.close()


@dataclass(slots=True)
class RawSource:
    """A source file as the program saw it."""

    identifier: int
    path: str
    digest: str
    text: str


class RawReader:
    """Reads a raw file record by record; ``lost_bytes`` counts what a killed process left incomplete."""

    def __init__(self, path: Path) -> None:
        """Raises LayoutError when the file is foreign or of an unknown version."""
        self.path = path
        self._data = path.read_bytes()
        self.lost_bytes = 0
        if len(self._data) < _HEADER.size:
            raise LayoutError(f"{path} is cut off before its header ends")
        magic, version = _HEADER.unpack_from(self._data)
        if magic != MAGIC:
            raise LayoutError(f"{path} was not written by Warplint")
        if version not in READABLE_VERSIONS:
            raise LayoutError(
                f"{path} has format version {version}; this release reads {sorted(READABLE_VERSIONS)}"
            )

    def records(self) -> Iterator[tuple[Record, bytes]]:
        """Every complete record in order. Stops at the first that is cut off or damaged."""
        position, data = _HEADER.size, self._data
        while position < len(data):
            end = position + _FRAME.size
            if end > len(data):
                break
            kind, length, checksum = _FRAME.unpack_from(data, position)
            payload = data[end : end + length]
            if len(payload) < length or zlib.crc32(payload) != checksum:
                break
            position = end + length
            if kind in Record._value2member_map_:
                yield Record(kind), payload
        self.lost_bytes = len(data) - position


def parse_json(payload: bytes) -> Any:
    return json.loads(payload)


def parse_source(payload: bytes) -> RawSource:
    head, _, body = payload.partition(b"\n")
    fields = json.loads(head)
    text = zlib.decompress(body).decode("utf-8", "surrogatepass")
    return RawSource(fields["id"], fields["path"], fields["digest"], text)


def parse_lines(payload: bytes) -> tuple[int, array[int]]:
    """The native thread id and its flat (t_ns, code, line) triples."""
    (thread,) = struct.unpack_from("<q", payload)
    return thread, _native(payload[8:])


def parse_layer_calls(payload: bytes) -> tuple[int, array[int]]:
    """The native thread id and its flat (t_ns, layer) pairs."""
    (thread,) = struct.unpack_from("<q", payload)
    return thread, _native(payload[8:])


def parse_steps(payload: bytes) -> array[int]:
    """Flat (index, t_ns) pairs."""
    return _native(payload)


def parse_step_buckets(payload: bytes) -> array[int]:
    """Flat sextuples, see ``Record.STEP_BUCKETS``."""
    return _native(payload)


def _little(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = array("q", values)
        values.byteswap()
    return values.tobytes()


def _native(payload: bytes) -> array[int]:
    values = array("q")
    values.frombytes(payload)
    if sys.byteorder == "big":
        values.byteswap()
    return values
