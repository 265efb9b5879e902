"""Lines of plain Python that run so often that following them would slow the program many times over.

Every code object has a budget of line events. What it spends on lines that call nothing of torch's is counted
ten times a second; above the budget those lines are followed no longer. Lines that call operators always are,
since what they launch must be charged to them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import CodeType

from warplint.capture.lines.calling_lines import lines_with_calls

Place = tuple[int, int]
"""A code object's ``id`` and a line of it."""

FAST_NS = 3_000
"""A line followed this soon by the next called nothing of torch's: the least operator takes longer."""
FAST_TRACED_NS = 10_000
"""The same through ``sys.settrace``, which takes longer to tell that a function returns."""
BUDGET = 10_000
"""Events of fast lines that a code object may make between two looks, a tenth of a second apart: at a quarter
of a microsecond each, they take a fortieth of the time."""
LEAST_EVENTS = 100
"""A line with fewer events between two looks stays followed in any case."""
SLOW_SHARE = 0.05
"""A line counts as one that calls operators when this part of its events was not fast: a fast line is
interrupted now and then."""
RARE, RARELY_SLOW_SHARE = 20, 0.5
"""Of so few events one in two may have been interrupted."""
LOOKED_AT = 30_000
"""Events counted at a look, which take ten milliseconds: of more only the last, as a sample of all."""
PLACES_NAMED = 3


@dataclass(slots=True)
class HotLines:
    """What is to be followed no longer."""

    lines: set[Place] = field(default_factory=set)
    codes: set[int] = field(default_factory=set)
    """Code objects that are entered so often that not even their returns are followed."""
    plain: dict[int, int] = field(default_factory=dict)
    """Code objects with hot lines of which no line was slow, and the line that ran most often."""
    known_plain: set[int] = field(default_factory=set)
    """Those of them without a line that could turn out to be slow: all others call nothing."""
    fast_ns: int = FAST_NS
    met: Mapping[int, CodeType] = field(default_factory=dict)
    """Code objects by ``id``. Of others it is not known what their lines do."""
    _calling: dict[int, set[int]] = field(default_factory=dict)
    _hottest: dict[int, int] = field(default_factory=dict)
    _all: _Counted = field(default_factory=lambda: _Counted(Counter(), Counter()))
    """All events so far."""

    def look(self, events: array[int]) -> bool:
        """Learn from a thread's flat ``t_ns, code, line`` triples; True when something new is hot."""
        self._all.add(events, self.fast_ns)
        self._judge()
        total = len(events) // 3
        if total <= BUDGET:
            return False
        sample = _Counted(Counter(), Counter())
        sample.add(events[-3 * LOOKED_AT :], self.fast_ns)
        found = self._over_budget(sample, scale=total / min(total, LOOKED_AT))
        self.lines |= found
        self._judge()
        return bool(found)

    def _over_budget(self, sample: _Counted, scale: float) -> set[Place]:
        found: set[Place] = set()
        for code, spent in sample.fast_by_code().items():
            if not code or spent * scale <= BUDGET:
                continue
            often = {place: count for place, count in sample.events.items() if place[0] == code}
            hot = {place for place, count in often.items() if count * scale >= LEAST_EVENTS}
            new = {place for place in hot if not sample.is_slow(place)} - self.lines
            if new:
                found |= new
                self._hottest[code] = max(new, key=lambda place: often[place])[1]
        return found

    def _judge(self) -> None:
        # What lines call is told by disassembling the whole function: only of those over the budget.
        asked = (place for place in self._all.slow if place[0] in self._hottest)
        slow = {place[0] for place in asked if self._all.is_slow(place) and self._calls(place)}
        self.plain = {code: line for code, line in self._hottest.items() if code not in slow}
        for code in self._hottest.keys() - self.codes:
            if all(place in self.lines for place in self._all.events if place[0] == code):
                self.codes.add(code)
        self.known_plain = {code for code in self.plain if self._all_known(code)}

    def _calls(self, place: Place) -> bool:
        lines = self._lines_with_calls(place[0])
        return lines is None or place[1] in lines

    def _all_known(self, code: int) -> bool:
        lines = self._lines_with_calls(code)
        return lines is not None and all((code, line) in self.lines for line in lines)

    def _lines_with_calls(self, code: int) -> set[int] | None:
        if code not in self._calling and code in self.met:
            self._calling[code] = lines_with_calls(self.met[code])
        return self._calling.get(code)

    def describe(self, codes: dict[int, CodeType]) -> str:
        """The lines, named for people."""
        by_file: dict[str, set[int]] = {}
        for code, line in self.lines:
            by_file.setdefault(Path(codes[code].co_filename).name, set()).add(line)
        spans = [f"{file}:{span}" for file, lines in sorted(by_file.items()) for span in _spans(lines)]
        more = len(spans) - PLACES_NAMED
        return ", ".join(spans[:PLACES_NAMED]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class _Counted:
    """Events by place: all of them, and those not soon followed by the next."""

    events: Counter[Place]
    slow: Counter[Place]

    def add(self, events: array[int], fast_ns: int) -> None:
        times, places = events[::3], list(zip(events[1::3], events[2::3], strict=True))
        self.events.update(places[:-1])
        self.slow.update(
            place
            for place, before, after in zip(places, times, times[1:], strict=False)
            if after - before >= fast_ns
        )

    def fast_by_code(self) -> Counter[int]:
        fast: Counter[int] = Counter()
        for (code, line), count in self.events.items():
            fast[code] += count - self.slow[code, line]
        return fast

    def is_slow(self, place: Place) -> bool:
        count = self.events[place]
        return self.slow[place] > count * (SLOW_SHARE if count > RARE else RARELY_SLOW_SHARE)


def _spans(lines: Iterable[int]) -> list[str]:
    """Consecutive lines as ``first-last``."""
    spans = []
    for _, group in groupby(enumerate(sorted(lines)), key=lambda pair: pair[1] - pair[0]):
        run = [line for _, line in group]
        spans.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return spans
