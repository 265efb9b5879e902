"""The section ``fused``: kernels that were made of several statements, and each statement's even part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

MAX_SHARES = 2_000
"""Shares kept, by falling time: what a person or an editor can look through."""

Line = tuple[str, int]
Key = tuple[str, tuple[Line, ...]]
"""A kernel's name and the lines that share it."""


@dataclass(frozen=True, slots=True)
class FusedShare:
    """One line's even part of the GPU time of a kernel that torch.compile fused from several."""

    kernel: str
    file: str
    line: int
    others: tuple[str, ...]
    """The other lines of the kernel, ``file:line``."""
    us: float
    count: int
    """How often the kernel ran."""


@dataclass(slots=True)
class FusedTally:
    """Fused kernels so far: nanoseconds by line, and how often each ran."""

    ns: dict[Key, dict[Line, int]] = field(default_factory=lambda: defaultdict(partial(defaultdict, int)))
    counts: dict[Key, int] = field(default_factory=lambda: defaultdict(int))

    def add_run(self, kernel: str, parts_ns: Mapping[Line, int]) -> None:
        key = (kernel, tuple(sorted(parts_ns)))
        self.counts[key] += 1
        for line, part_ns in parts_ns.items():
            self.ns[key][line] += part_ns

    def add(self, other: FusedTally) -> None:
        for key, count in other.counts.items():
            self.counts[key] += count
        for key, parts in other.ns.items():
            for line, part_ns in parts.items():
                self.ns[key][line] += part_ns

    def shares(self) -> list[FusedShare]:
        found = [
            FusedShare(
                kernel,
                *line,
                tuple(f"{file}:{number}" for file, number in lines if (file, number) != line),
                part_ns / 1000,
                self.counts[kernel, lines],
            )
            for (kernel, lines), parts in self.ns.items()
            for line, part_ns in parts.items()
        ]
        found.sort(key=lambda share: (-share.us, share.file, share.line, share.kernel, share.others))
        return found[:MAX_SHARES]
