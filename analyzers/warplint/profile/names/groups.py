"""Kernels by signature and type, with how they behave: many short ones, few long ones, ones of changing
length."""

from __future__ import annotations

import operator
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress

from warplint.profile.names.signature import dtype, signature
from warplint.profile.sections.named_costs import KernelGroup

MOST_GROUPS = 1_000
"""Groups that are kept, the dearest; the rest is one more, OTHERS. Real traces have some 100."""
OTHERS = "others"

LEAST_STEPS = 3
"""Steps that a kernel at one place of the step is compared over."""
SHORT_US = 10.0
"""A shorter kernel takes about as long as launching it, which is 5 to 10 µs."""
LONG_US = 100.0
"""A longer one hides ten launches."""
MANY_PER_SECOND = 1_000.0
"""Launching so many takes some hundredth of the host's time, and no step is too short to tell."""
JITTER = 0.25
"""Standard deviation over mean, from which the same kernel at the same place counts as jittery."""
JITTER_LEAST_US = 5.0
"""Below, the scatter is that of the GPU's clock and of launching."""

STEADY, JITTERY, MANY_SHORT, FEW_LONG = "steady", "jittery", "many short", "few long"


@dataclass(slots=True)
class Ran:
    """The runs of one kernel name in one window, in the order of their launches."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    lengths_ns: array[int] = field(default_factory=lambda: array("q"))
    beside: bytearray = field(default_factory=bytearray)
    """Whether other work of the process ran at the same time on that GPU."""

    def places(self) -> list[slice]:
        """The runs at the same place of the step: all the first ones, all the second ones, ….

        None where steps ran it differently often: then no two runs are known to be of the same work.
        """
        counts = Counter(self.steps)
        each = set(counts.values())
        if len(counts) < LEAST_STEPS or len(each) != 1:
            return []
        in_step = each.pop()
        return [slice(place, None, in_step) for place in range(in_step)]


@dataclass(slots=True)
class GroupTally:
    """Every kernel's runs, by name, a list of windows each."""

    ran: dict[str, list[Ran]] = field(default_factory=lambda: defaultdict(list))

    def add(self, other: GroupTally) -> None:
        for name, windows in other.ran.items():
            self.ran[name].extend(windows)

    def groups(self, wall_ns: int) -> list[KernelGroup]:
        """By falling time."""
        named: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in self.ran:
            named[signature(name), dtype(name)].append(name)
        found = [self._group(*key, names, wall_ns) for key, names in named.items()]
        found.sort(key=lambda group: (-group.us, group.signature, group.dtype))
        kept, rest = found[:MOST_GROUPS], found[MOST_GROUPS:]
        if rest:
            names = [name for group in rest for name in named[group.signature, group.dtype]]
            kept.append(self._group(OTHERS, "", names, wall_ns))
        return kept

    def _group(self, text: str, kind: str, names: Sequence[str], wall_ns: int) -> KernelGroup:
        runs = [ran for name in names for ran in self.ran[name]]
        lengths = sorted(chain.from_iterable(ran.lengths_ns for ran in runs))
        total, count = sum(lengths), len(lengths)
        mean_us, per_second = total / count / 1000, count * 1e9 / wall_ns if wall_ns else 0.0
        jitter = _jitter(runs)
        return KernelGroup(
            signature=text,
            dtype=kind,
            names=len(names),
            count=count,
            us=total / 1000,
            mean_us=mean_us,
            p10_us=_quantile(lengths, 0.1) / 1000,
            p90_us=_quantile(lengths, 0.9) / 1000,
            launches_per_second=per_second,
            behaviour=behaviour(mean_us, per_second, jitter),
            jitter=jitter,
            contended_us=_contended_us(runs),
            example=max(names, key=lambda name: sum(sum(ran.lengths_ns) for ran in self.ran[name])),
        )


def behaviour(mean_us: float, launches_per_second: float, jitter: float | None) -> str:
    """The first that fits."""
    if jitter is not None and jitter >= JITTER and mean_us >= JITTER_LEAST_US:
        return JITTERY
    if mean_us < SHORT_US and launches_per_second >= MANY_PER_SECOND:
        return MANY_SHORT
    if mean_us >= LONG_US and launches_per_second < MANY_PER_SECOND:
        return FEW_LONG
    return STEADY


def _jitter(runs: Iterable[Ran]) -> float | None:
    """How much runs of the same work differ: standard deviation over mean, over all places of the step."""
    squares, total, count = 0.0, 0, 0
    for ran in runs:
        for place in ran.places():
            lengths = ran.lengths_ns[place]
            length, runs_there = sum(lengths), len(lengths)
            # The population variance, exact up to the division.
            spread = runs_there * sum(map(operator.mul, lengths, lengths)) - length * length
            squares += spread / (runs_there * runs_there) * runs_there
            total += length
            count += runs_there
    return (squares / count) ** 0.5 / (total / count) if total else None


def _contended_us(runs: Iterable[Ran]) -> float | None:
    """How much longer runs beside other work took than the median of those alone at the same place."""
    extra, known = 0.0, False
    for ran in runs:
        for place in ran.places():
            contended = ran.beside[place]
            if not any(contended):
                continue
            lengths = ran.lengths_ns[place]
            alone = [length for length, others in zip(lengths, contended, strict=True) if not others]
            beside = list(compress(lengths, contended))
            if alone:
                known = True
                extra += sum(beside) - len(beside) * statistics.median(alone)
    return max(0.0, extra / 1000) if known else None


def _quantile(ordered: Sequence[int], part: float) -> int:
    """Of sorted values: the least that at least so great a part of them does not exceed."""
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)]


def overlapping(starts: Sequence[int], ends: Sequence[int], devices: Sequence[int]) -> bytearray:
    """For each piece of work whether another on its GPU ran at the same time."""
    found = bytearray(len(starts))
    latest: dict[int, tuple[int, int]] = {}
    for start, end, index, device in sorted(zip(starts, ends, range(len(starts)), devices, strict=True)):
        until, earlier = latest.get(device, (start, index))
        if start < until:
            found[index] = found[earlier] = 1
        if end >= until:
            latest[device] = (end, index)
    return found
