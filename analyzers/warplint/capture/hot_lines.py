"""Lines of plain Python that run so often that following them would slow the program many times over."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import CodeType

Place = tuple[int, int]
"""A code object's ``id`` and a line of it."""

FAST_NS = 3_000
"""A line followed this soon by the next called nothing of torch's: the least operator takes longer."""
HOT_EVENTS = 10_000
"""So many such events of one line between two looks, a tenth of a second apart, make it hot."""
PLACES_NAMED = 3


@dataclass(slots=True)
class HotLines:
    """Lines to be followed no longer, and code objects of which no line is left to follow."""

    lines: set[Place] = field(default_factory=set)
    codes: set[int] = field(default_factory=set)

    def look(self, events: array[int]) -> bool:
        """Learn from a thread's flat ``t_ns, code, line`` triples; True when something new is hot."""
        if len(events) <= 3 * HOT_EVENTS:
            return False
        times, places = events[::3], list(zip(events[1::3], events[2::3], strict=True))
        fast = Counter(
            place
            for place, before, after in zip(places, times, times[1:], strict=False)
            if after - before < FAST_NS
        )
        found = {place for place, count in fast.items() if count > HOT_EVENTS and place[0]} - self.lines
        self.lines |= found
        left = {code for code, line in places if (code, line) not in self.lines}
        self.codes |= {code for code, _ in found} - left
        return bool(found)

    def describe(self, codes: dict[int, CodeType]) -> str:
        """The lines, named for people."""
        by_file: dict[str, set[int]] = {}
        for code, line in self.lines:
            by_file.setdefault(Path(codes[code].co_filename).name, set()).add(line)
        spans = [f"{file}:{span}" for file, lines in sorted(by_file.items()) for span in _spans(lines)]
        more = len(spans) - PLACES_NAMED
        return ", ".join(spans[:PLACES_NAMED]) + (f" and {more} more" if more > 0 else "")


def _spans(lines: Iterable[int]) -> list[str]:
    """Consecutive lines as ``first-last``."""
    spans = []
    for _, group in groupby(enumerate(sorted(lines)), key=lambda pair: pair[1] - pair[0]):
        run = [line for _, line in group]
        spans.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return spans
