"""Which line of the user's source each thread was on, at any time.

A place is a (file, line) of the user's source with its own small number; lines inside a multi-line statement
are the statement's first. Place 0 is no user frame.
"""

from __future__ import annotations

import operator
from array import array
from dataclasses import dataclass
from itertools import islice

from warplint.profile.changes import Changes
from warplint.profile.raw.process import RawProcess, RawWindow
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


class ThreadLines(Changes):
    """One thread's places over time: from ``times[i]`` until ``times[i + 1]`` it is on ``values[i]``."""

    def __init__(self, events: array[int], places: Places) -> None:
        """``events`` are flat (t_ns, source, line) triples."""
        times = events[0::3]
        values = array("q", map(places.number, events[1::3], events[2::3]))
        if not all(map(operator.le, times, islice(times, 1, None))):
            order = sorted(range(len(times)), key=times.__getitem__)
            times = array("q", map(times.__getitem__, order))
            values = array("q", map(values.__getitem__, order))
        super().__init__(NOWHERE, times, values)


class Timeline:
    """Every thread's places in one window. A thread that ran no user code is NOWHERE."""

    def __init__(self, window: RawWindow, places: Places) -> None:
        self.threads = {thread: ThreadLines(events, places) for thread, events in window.lines.items()}
        self._empty = ThreadLines(array("q"), places)

    def thread(self, thread: int) -> ThreadLines:
        return self.threads.get(thread, self._empty)

    def at(self, thread: int, t_ns: int) -> int:
        return self.thread(thread).at(t_ns)
