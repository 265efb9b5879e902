"""Copies of few bytes that a line makes many times a step: each costs as much as launching it, whatever it
holds."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from warplint.profile.sections.named_costs import TinyCopies

TINY_BYTES = 64 * 1024
"""Below, a copy over PCIe (some 10 GB/s and more) takes less time than its launch."""
MANY_PER_STEP = 4
"""So many a step at one line are a cluster. One or two (a loss that is read) are a wait, and shown as
such."""
MOST_CLUSTERS = 1_000
"""Clusters that are kept, those of most copies."""

Key = tuple[str, int, str, str]
"""File, line, direction, memory."""

_NAME = re.compile(r"Memcpy (\w+)(?: \((.*)\))?")


@dataclass(slots=True)
class Cluster:
    """So far."""

    count: int = 0
    bytes: int = 0
    ns: int = 0
    wait_ns: int = 0


@dataclass(slots=True)
class CopyTally:
    """Tiny copies by line, direction and memory."""

    clusters: dict[Key, Cluster] = field(default_factory=lambda: defaultdict(Cluster))

    def add(self, other: CopyTally) -> None:
        for key, theirs in other.clusters.items():
            mine = self.clusters[key]
            mine.count += theirs.count
            mine.bytes += theirs.bytes
            mine.ns += theirs.ns
            mine.wait_ns += theirs.wait_ns

    def many(self, steps: int) -> list[TinyCopies]:
        """Those of many copies a step, most first. Where no step was captured, the window counts as one."""
        per = steps or 1
        found = [
            TinyCopies(
                file=file,
                line=line,
                direction=direction,
                memory=memory,
                count=cluster.count,
                count_per_step=cluster.count / per,
                bytes=cluster.bytes,
                us=cluster.ns / 1000,
                wait_us=cluster.wait_ns / 1000,
            )
            for (file, line, direction, memory), cluster in self.clusters.items()
            if cluster.count >= MANY_PER_STEP * per
        ]
        found.sort(key=lambda each: (-each.count, each.file, each.line, each.direction, each.memory))
        return found[:MOST_CLUSTERS]


def direction_and_memory(name: str) -> tuple[str, str]:
    """``HtoD`` and ``pageable`` or ``pinned`` of ``Memcpy HtoD (Pageable -> Device)``; empty where not
    said."""
    match = _NAME.match(name)
    if match is None:
        return "", ""
    kinds = (match[2] or "").lower()
    return match[1], next((memory for memory in ("pageable", "pinned") if memory in kinds), "")
