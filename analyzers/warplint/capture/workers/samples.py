"""Which fetches of a loader worker are followed, at what price, and what is written of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns, thread_time_ns
from types import FrameType
from typing import Any

from warplint.capture.collector import at_rest
from warplint.capture.layout import UNFOLLOWED, Record
from warplint.capture.lines.sources import Sources
from warplint.capture.recorder import WARNING, Recorder
from warplint.capture.workers.fetch_lines import (
    FIELDS,
    FIRST_EVENTS,
    MAX_EVENTS,
    LineTime,
    Stamps,
    make_fetch_lines,
    time_of_lines,
)
from warplint.capture.workers.functions import Surroundings

EVERY = 4
"""One fetch in so many is followed at most. The others tell what following costs, and run as they always
did."""
FIRST = 1
"""The first fetch of a worker opens files and imports what the others find open: it is not followed."""
PRICE_SHARE = 0.01
"""The most CPU time that following may take of a worker's time in fetches: less than these vary by
themselves."""
DENSE = 64
"""So many fetches of a worker are followed as they come; after that one when it has lived a little longer, so
that a run of days has some near every moment of it, and its file stays small."""
SPARSE_GROWTH = 1 / 32
MAX_BYTES = 1 << 20
"""Of a worker's file: a thousand fetches of thirty lines."""
MAX_LINES = 100
"""Of one fetch, the dearest; the time of the rest stands on no line."""
LEARNING = 2
"""So many followed fetches look for code of the user's that was not met before, then one in LEARN_AGAIN
does."""
LEARN_AGAIN = 8
CALIBRATIONS, CALIBRATION = 8, 25
"""Rounds, and events a round, in which the costs of an event and of reading the clocks are measured when a
worker starts: a millisecond. The quickest round counts: another process may have had the core in others."""


class WorkerSamples:
    """Called by the worker loop's thread around each fetch."""

    def __init__(self, recorder: Recorder, sources: Sources, stamps: Stamps, around: Surroundings) -> None:
        self._recorder, self._sources, self._stamps = recorder, sources, stamps
        self._lines = make_fetch_lines(stamps, around)
        self._event_ns = self._calibrate(lambda: stamps.note(0, 0))
        self._reading_ns = self._calibrate(lambda: stamps.read(perf_counter_ns()))
        stamps.events.clear()
        self._born_ns = perf_counter_ns()
        self._asked_ns = self._born_ns
        self._begun_ns = self._ended_ns = 0
        self._items = 0
        self._following = False
        self._refusals = 0
        self._not_before = 0
        """The fetch from which on following is tried again."""
        self._gave_up = False
        self._described: set[int] = set()
        self._written = 0
        self._last_sample_ns = 0
        self._samples = 0
        self._price_ns = 0
        self._fetches = 0
        self._fetch_ns = 0
        self._plain_items = 0
        self._plain_ns = 0
        self._idle_ns = 0

    def asks(self) -> None:
        """The worker asks for its next task. A fetch that was not handed over is forgotten."""
        self._abandon()
        if not self._asked_ns:
            self._asked_ns = perf_counter_ns()

    def begins(self, items: int, boundary: FrameType) -> None:
        """A fetch of so many samples begins in the frame ``boundary``."""
        now = perf_counter_ns()
        self._idle_ns += now - self._asked_ns
        self._asked_ns = 0
        self._items = items
        if self._due(now):
            with at_rest():
                self._following = self._follow(boundary)
        self._begun_ns = perf_counter_ns()

    def ends(self, fetched: bool) -> bool:
        """A result is about to be handed over, a batch if ``fetched``; True when ``write`` is to follow."""
        if not self._begun_ns or not fetched:
            self._abandon()
            return False
        now = perf_counter_ns()
        self._fetches += 1
        self._fetch_ns += now - self._begun_ns
        if not self._following:
            self._plain_ns += now - self._begun_ns
            self._plain_items += self._items
            self._begun_ns = 0
            return False
        spent_ns = thread_time_ns()
        # What turning lines off takes is none of the fetch's.
        if not self._stamps.full:
            self._stamps.end()
        with at_rest():
            self._lines.stop()
        self._ended_ns = now
        events = len(self._stamps.events) // FIELDS + self._lines.passed
        self._price_ns += events * self._event_ns + self._stamps.readings * self._reading_ns
        self._price_ns += thread_time_ns() - spent_ns
        return True

    def write(self) -> None:
        """Write the fetch that has just been handed over."""
        spent_ns = thread_time_ns()
        begun, self._begun_ns, self._following = self._begun_ns, 0, False
        self._samples += 1
        self._last_sample_ns = self._ended_ns
        self._recorder.json(Record.FETCH, self._record(begun))
        self._price_ns += thread_time_ns() - spent_ns

    def close(self) -> None:
        """The worker ends in good order."""
        self._abandon()
        self._recorder.json(Record.END, {"t_ns": perf_counter_ns(), "reason": "exit", **self._totals()})
        self._recorder.close()

    def _follow(self, boundary: FrameType) -> bool:
        """Follow the fetch that begins, if lines can be followed now."""
        spent_ns = thread_time_ns()
        learn = self._samples < LEARNING or self._samples % LEARN_AGAIN == 0
        following = False
        try:
            following = self._lines.start(learn)
        except Exception as error:
            self._give_up(error)
        # What turning lines on takes, and looking for code, is none of the fetch's.
        self._stamps.begin(boundary, MAX_EVENTS if self._samples else FIRST_EVENTS)
        if not following:
            # A debugger of the program's has them, and may have them to the end.
            self._refusals += 1
            self._not_before = self._fetches + EVERY * 2**self._refusals
        self._price_ns += thread_time_ns() - spent_ns
        return following

    def _give_up(self, error: Exception) -> None:
        self._gave_up = True
        with suppress(Exception):
            self._lines.stop()
        text = f"lines of loader workers were not followed: {type(error).__name__}: {error}"
        self._recorder.note(WARNING, UNFOLLOWED, text)

    def _abandon(self) -> None:
        if self._following:
            self._lines.stop()
            self._following = False
        self._begun_ns = 0

    def _due(self, now: int) -> bool:
        if self._fetches % EVERY != FIRST or self._fetches < self._not_before:
            return False
        if self._gave_up or self._written > MAX_BYTES or self._recorder.failed:
            return False
        if self._samples and self._price_ns > PRICE_SHARE * self._fetch_ns:
            return False
        if self._samples < DENSE:
            return True
        return now - self._last_sample_ns > SPARSE_GROWTH * (now - self._born_ns)

    def _record(self, begun: int) -> dict[str, Any]:
        spent = time_of_lines(self._stamps.events)
        self._stamps.ran.update(code for code, _ in spent)
        self._take_off_own_cost(spent)
        dearest = sorted(spent, key=lambda place: -spent[place].wall_ns)[:MAX_LINES]
        self._describe({code for code, _ in dearest if code})
        lines = [
            [*place, spent[place].wall_ns, spent[place].cpu_ns, spent[place].ready_ns]
            for place in dearest
            if place[0]
        ]
        self._written += 64 + 32 * len(lines)
        return {
            "t_ns": begun,
            "wall_ns": self._ended_ns - begun,
            "followed_ns": sum(line.wall_ns for line in spent.values()),
            "items": self._items,
            "lines": lines,
            **self._totals(),
        }

    def _take_off_own_cost(self, spent: dict[tuple[int, int], LineTime]) -> None:
        """Following a line costs about as much as a short line takes: it is no cost of the line's."""
        for line in spent.values():
            own = min(line.events * self._event_ns, line.cpu_ns)
            line.wall_ns -= own
            line.cpu_ns -= own

    def _describe(self, codes: set[int]) -> None:
        for identifier in codes - self._described:
            code = self._stamps.codes[identifier]
            described = {
                "id": identifier,
                "file": self._sources.number(code.co_filename),
                "name": getattr(code, "co_qualname", code.co_name),
                "first_line": code.co_firstlineno,
            }
            self._recorder.json(Record.CODE, described)
            self._described.add(identifier)

    def _totals(self) -> dict[str, int]:
        return {
            "fetches": self._fetches,
            "fetch_ns": self._fetch_ns,
            "plain_items": self._plain_items,
            "plain_ns": self._plain_ns,
            "idle_ns": self._idle_ns,
            "price_ns": self._price_ns,
        }

    def _calibrate(self, action: Callable[[], object]) -> int:
        """What an action costs here, in nanoseconds."""
        rounds = []
        for _ in range(CALIBRATIONS):
            started = perf_counter_ns()
            for _ in range(CALIBRATION):
                action()
            rounds.append((perf_counter_ns() - started) // CALIBRATION)
        return min(rounds)
