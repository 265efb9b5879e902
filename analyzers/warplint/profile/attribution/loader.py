"""What one sample costs a loader worker, line by line: from the fetches that were followed in the workers.

A sample is an item of the dataset. A fetch makes a batch of them: what it spends on collating counts a
sample's part. Of all fetches those nearest in time to the captured windows count, since what was loaded then
is what the steps waited for.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warplint.capture.layout import (
    WORKER_SUFFIX,
    LayoutError,
    RawReader,
    RawSource,
    Record,
    parse_json,
    parse_source,
)
from warplint.profile.model import CapturedSource, LineCost
from warplint.profile.root_relative import root_relative
from warplint.profile.sections.loader_costs import Loader, LoaderLine
from warplint.source.statements import heads_of_text

NEAREST = 256
"""Fetches that count: enough for a mean, few enough to be of one time of the run."""
MAX_LINES = 100
"""Of the section, the dearest: a worker records no more of a fetch."""

Span = tuple[int, int]


@dataclass(slots=True)
class _Fetch:
    start_ns: int
    wall_ns: int
    items: int
    scale: float
    """Of a fetch that was followed in part: the whole against that part."""
    lines: list[tuple[tuple[str, int], int, int, int]]
    """Key, wall, CPU and ready time in nanoseconds."""


@dataclass(slots=True)
class _Worker:
    described: dict[str, Any] = field(default_factory=dict)
    fetches: list[_Fetch] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class LoaderCosts:
    """What the workers of one captured process say."""

    lines: list[LoaderLine] = field(default_factory=list)
    loaders: list[Loader] = field(default_factory=list)
    sources: dict[str, CapturedSource] = field(default_factory=dict)
    """By ``LoaderLine.file``."""

    @property
    def dearest(self) -> tuple[str, int] | None:
        """File and line."""
        return (self.lines[0].file, self.lines[0].line) if self.lines else None


def with_workers(lines: list[LineCost], workers: Sequence[LoaderLine]) -> list[LineCost]:
    """The costs with what the workers spend on each line; lines that ran in workers alone come last."""
    by_place = {(cost.file, cost.line): cost for cost in lines}
    for worker in workers:
        cost = by_place.get((worker.file, worker.line))
        if cost is None:
            cost = LineCost(worker.file, worker.line)
            lines.append(cost)
        cost.worker_us, cost.worker_waiting_us = worker.wall_us, worker.waiting_us
    return lines


def read_loader(
    folder: Path, rank: int, pid: int, root: str, windows: Sequence[Span], said: list[str]
) -> LoaderCosts:
    """Costs in the workers that the process of that rank and id started; what cannot be read is added to
    ``said``.

    ``windows`` are when its windows were open, in ``perf_counter_ns``, a clock that all processes of a
    machine share.
    """
    costs = LoaderCosts()
    workers = []
    for path in sorted(folder.glob(f"rank{rank}.{pid}.*{WORKER_SUFFIX}")):
        worker = _read_or_say(path, root, costs.sources, said)
        if worker is not None:
            workers.append(worker)
    fetches = _nearest([fetch for worker in workers for fetch in worker.fetches], windows)
    if fetches:
        costs.lines = _lines(fetches)
        costs.loaders = [_loader(workers, fetches, costs.lines)]
    shown = {line.file for line in costs.lines}
    costs.sources = {file: source for file, source in costs.sources.items() if file in shown}
    return costs


def _read_or_say(
    path: Path, root: str, sources: dict[str, CapturedSource], said: list[str]
) -> _Worker | None:
    try:
        return _read_worker(path, root, sources)
    except (LayoutError, OSError, KeyError, TypeError, ValueError, zlib.error) as error:
        said.append(f"what the loader worker of {path.name} did cannot be read: {error}")
        return None


def _read_worker(path: Path, root: str, sources: dict[str, CapturedSource]) -> _Worker:
    worker = _Worker()
    texts: dict[int, RawSource] = {}
    heads: dict[int, dict[int, int]] = {}
    codes: dict[int, int] = {}

    def key(code: int, line: int) -> tuple[str, int]:
        source = texts[codes[code]]
        if source.identifier not in heads:
            heads[source.identifier] = heads_of_text(source.text)
        return root_relative(source.path, root), heads[source.identifier].get(line, line)

    for record, payload in RawReader(path).records():
        if record is Record.WORKER:
            worker.described = parse_json(payload)
        elif record is Record.SOURCE:
            source = parse_source(payload)
            texts[source.identifier] = source
            file = root_relative(source.path, root)
            sources[file] = CapturedSource(file, source.digest, source.text)
        elif record is Record.CODE:
            described = parse_json(payload)
            codes[int(described["id"])] = int(described["file"])
        elif record is Record.FETCH:
            value = parse_json(payload)
            worker.totals = value
            lines = [
                (key(int(code), int(line)), int(wall), int(cpu), int(ready))
                for code, line, wall, cpu, ready in value["lines"]
            ]
            followed = int(value["followed_ns"])
            worker.fetches.append(
                _Fetch(
                    start_ns=int(value["t_ns"]),
                    wall_ns=int(value["wall_ns"]),
                    items=int(value["items"]),
                    scale=int(value["wall_ns"]) / followed if followed else 0.0,
                    lines=lines,
                )
            )
        elif record is Record.END:
            worker.totals = parse_json(payload)
    return worker


def _nearest(fetches: Iterable[_Fetch], windows: Sequence[Span]) -> list[_Fetch]:
    def distance(fetch: _Fetch) -> int:
        start, end = fetch.start_ns, fetch.start_ns + fetch.wall_ns
        return min((max(0, opened - end, start - closed) for opened, closed in windows), default=0)

    return sorted((fetch for fetch in fetches if fetch.items), key=distance)[:NEAREST]


def _lines(fetches: Sequence[_Fetch]) -> list[LoaderLine]:
    samples, whole_ns = sum(fetch.items for fetch in fetches), sum(fetch.wall_ns for fetch in fetches)
    sums: dict[tuple[str, int], list[float]] = {}
    for fetch in fetches:
        for key, *times in fetch.lines:
            line = sums.setdefault(key, [0.0, 0.0, 0.0])
            for figure, ns in enumerate(times):
                line[figure] += ns * fetch.scale
    found = []
    for (file, number), (wall, cpu, ready) in sums.items():
        found.append(
            LoaderLine(
                file=file,
                line=number,
                wall_us=wall / samples / 1000,
                cpu_us=cpu / samples / 1000,
                waiting_us=max(0.0, wall - cpu - ready) / samples / 1000,
                ready_us=ready / samples / 1000,
                samples=samples,
                share=wall / whole_ns if whole_ns else 0.0,
            )
        )
    return sorted(found, key=lambda line: (-line.wall_us, line.file, line.line))[:MAX_LINES]


def _loader(workers: Sequence[_Worker], fetches: Sequence[_Fetch], lines: Sequence[LoaderLine]) -> Loader:
    samples = sum(fetch.items for fetch in fetches)
    total = {
        name: sum(int(worker.totals.get(name, 0)) for worker in workers)
        for name in ("fetch_ns", "idle_ns", "plain_ns", "plain_items", "price_ns")
    }
    lived_ns = total["fetch_ns"] + total["idle_ns"]
    described = workers[-1].described
    return Loader(
        dataset=str(described.get("dataset", "")),
        workers=int(described.get("workers", 0)),
        followed=len(fetches),
        samples=samples,
        sample_us=sum(fetch.wall_ns for fetch in fetches) / samples / 1000,
        plain_sample_us=total["plain_ns"] / total["plain_items"] / 1000 if total["plain_items"] else 0.0,
        batch=samples / len(fetches),
        busy_share=total["fetch_ns"] / lived_ns if lived_ns else 0.0,
        unnamed_share=max(0.0, 1.0 - sum(line.share for line in lines)),
        price_share=total["price_ns"] / total["fetch_ns"] if total["fetch_ns"] else 0.0,
    )
