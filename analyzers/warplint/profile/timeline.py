"""Which line of the user's source each thread was on, at any time.

A place is a (file, line) of the user's source with its own small number; lines inside a multi-line statement
are the statement's first. Place 0 is no user frame.
"""

from __future__ import annotations

import bisect
import itertools
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from warplint.profile.raw import RawProcess, RawWindow
from warplint.source.statements import heads_of_text

NOWHERE = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A statement of the user's source: the id of its SOURCE record and its first line."""

    source: int
    line: int


class Places:
    """Numbers places; 0 is NOWHERE."""

    def __init__(self, process: RawProcess) -> None:
        self.all: list[Place] = [Place(0, 0)]
        self._process = process
        self._numbers: dict[tuple[int, int], int] = {}
        self._by_line: dict[tuple[int, int], int] = {}
        self._heads: dict[int, dict[int, int]] = {}

    def number(self, source: int, line: int) -> int:
        """The place of a line of a source; NOWHERE for source 0."""
        found = self._by_line.get((source, line))
        if found is None:
            found = self._by_line[source, line] = self._look_up(source, line)
        return found

    def _look_up(self, source: int, line: int) -> int:
        if source == 0 or line < 1:
            return NOWHERE
        key = (source, self._heads_of(source).get(line, line))
        if key not in self._numbers:
            self._numbers[key] = len(self.all)
            self.all.append(Place(*key))
        return self._numbers[key]

    def _heads_of(self, source: int) -> dict[int, int]:
        if source not in self._heads:
            captured = self._process.sources.get(source)
            self._heads[source] = {} if captured is None else heads_of_text(captured.text)
        return self._heads[source]


class ThreadLines:
    """One thread's places over time: from ``times[i]`` until ``times[i + 1]`` it is on ``places[i]``."""

    def __init__(self, events: array[int], places: Places) -> None:
        """``events`` are flat (t_ns, source, line) triples."""
        triples = list(zip(events[0::3], events[1::3], events[2::3], strict=False))
        if any(late[0] < early[0] for early, late in itertools.pairwise(triples)):
            triples.sort(key=lambda triple: triple[0])
        self.times = array("q", (time for time, _, _ in triples))
        self.places = array("q", (places.number(source, line) for _, source, line in triples))

    def at(self, t_ns: int) -> int:
        """The place at a time: NOWHERE before the first event."""
        index = bisect.bisect_right(self.times, t_ns) - 1
        return self.places[index] if index >= 0 else NOWHERE

    def spans(self, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, int]]:
        """(start, end, place) without a hole over ``[start_ns, end_ns)``."""
        index = bisect.bisect_right(self.times, start_ns)
        place, begin = (self.places[index - 1] if index else NOWHERE), start_ns
        while begin < end_ns:
            end = min(end_ns, self.times[index]) if index < len(self.times) else end_ns
            if end > begin:
                yield begin, end, place
            if index < len(self.times):
                place = self.places[index]
            begin, index = end, index + 1


class Timeline:
    """Every thread's places in one window. A thread that ran no user code is NOWHERE."""

    def __init__(self, window: RawWindow, places: Places) -> None:
        self.threads = {thread: ThreadLines(events, places) for thread, events in window.lines.items()}
        self._empty = ThreadLines(array("q"), places)

    def thread(self, thread: int) -> ThreadLines:
        return self.threads.get(thread, self._empty)

    def at(self, thread: int, t_ns: int) -> int:
        return self.thread(thread).at(t_ns)
