"""Line events on their way from the callbacks to the raw file."""

from __future__ import annotations

import threading
from array import array
from types import CodeType

from warplint.capture.layout import Record
from warplint.capture.lines.sources import Sources
from warplint.capture.recorder import Recorder

FIELDS = 3


class ThreadBuffer(threading.local):
    """The calling thread's events, a flat list of ``t_ns, code, line``.

    ``extend`` is the bound method the callbacks use: one call in C a triple, so that neither another thread
    nor a signal handler that raises can ever leave a triple incomplete. A list takes such a call in half an
    array's time; it is emptied into an array several times a second.
    """

    def __init__(self, buffers: Buffers) -> None:
        events: list[int] = []
        self.extend = events.extend
        buffers.own(threading.get_ident(), threading.get_native_id(), events)


class Buffers:
    """All threads' events of one window, and the code objects they name by ``id``."""

    def __init__(self, recorder: Recorder, sources: Sources) -> None:
        self._recorder = recorder
        self._sources = sources
        self._threads: list[tuple[int, list[int]]] = []
        self._own: dict[int, list[int]] = {}
        """By thread identifier, of threads whose callbacks have added any."""
        self._last_ns: dict[int, int] = {}
        """When the last event of each list was that is written, by the list's ``id``."""
        self._flushing = threading.Lock()
        self._described = 0
        self.codes: dict[int, CodeType] = {}
        """Every code object of the user's that was met, by ``id``. Held, so that no id is used twice."""
        self.written = 0
        """Events handed to the raw file."""
        self.local = ThreadBuffer(self)

    def add(self, thread: int, events: list[int]) -> None:
        """Take over the events of a native thread."""
        self._threads.append((thread, events))

    def own(self, ident: int, thread: int, events: list[int]) -> None:
        """Take over what the callbacks of a thread add."""
        self.add(thread, events)
        self._own[ident] = events

    def insert(self, ident: int, event: tuple[int, int, int]) -> None:
        """Add an event to those of another thread, if its callbacks have added any."""
        if ident in self._own:
            self._own[ident].extend(event)

    def forget_line(self, ident: int) -> None:
        """Where a thread has been since its last event is not known."""
        events = self._own.get(ident)
        if events is not None:
            last_ns = events[-FIELDS] if events else self._last_ns.get(id(events), 0)
            events.extend((last_ns + 1, 0, 0))

    def forget_lines(self) -> None:
        """Nor is it of any thread."""
        for ident in list(self._own):
            self.forget_line(ident)

    def note(self, ident: int, native_id: int, event: tuple[int, int, int]) -> None:
        """Add an event to a thread's, before its own callbacks do."""
        if ident == threading.get_ident():
            self.local.extend(event)
        else:
            self.add(native_id, list(event))

    def learn(self, code: CodeType) -> None:
        self.codes[id(code)] = code

    def flush(self) -> list[array[int]]:
        """Write out what has come in, and return it by thread.

        Safe beside running callbacks, which only ever append.
        """
        # Not blocking: a signal handler may come here while the thread it interrupted holds the lock.
        if not self._flushing.acquire(blocking=False):
            return []
        try:
            chunks = [(thread, self._take(events)) for thread, events in list(self._threads)]
            # Only now: a code object is learnt before its first event is appended.
            self._describe_codes()
            for thread, chunk in chunks:
                if chunk:
                    self._recorder.lines(thread, chunk)
                    self.written += len(chunk) // FIELDS
            return [chunk for _, chunk in chunks]
        finally:
            self._flushing.release()

    def _describe_codes(self) -> None:
        codes = list(self.codes.values())
        for code in codes[self._described :]:
            self._recorder.json(
                Record.CODE,
                {
                    "id": id(code),
                    "file": self._sources.number(code.co_filename),
                    "name": getattr(code, "co_qualname", code.co_name),
                    "first_line": code.co_firstlineno,
                },
            )
        self._described = len(codes)

    def _take(self, events: list[int]) -> array[int]:
        taken = events[:]
        if taken:
            self._last_ns[id(events)] = taken[-FIELDS]
        del events[: len(taken)]
        return array("q", taken)
