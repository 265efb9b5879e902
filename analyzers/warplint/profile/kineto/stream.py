"""Cuts the text of a trace into pieces of whole events, without ever holding the file.

The text is a JSON object with ``traceEvents``, or the bare list of events. What stands round the list is kept
as the header; the list comes in pieces that end between two events wherever that could be told by looking for
``}, {`` (inside an event's strings and lists that can stand too, so whoever decodes a piece must be ready to
find that it does not end between two, and ask for ``more``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warplint.profile.kineto.trace import TraceError
from warplint.profile.kineto.unpacked import BLOCK_BYTES, CutOff, not_json, refuse_foreign

LONGEST_HEADER = 16 << 20
"""More than this is no header: Kineto's lists processes and GPUs in a few thousand bytes."""

LONGEST_KEY = 256
"""``"traceEvents": [`` with all its blanks is not longer."""

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
BETWEEN_EVENTS = re.compile(rb"\}\s*,\s*(?=\{)")
_WHITESPACE = b" \t\r\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TraceStream:
    """The bytes of one trace file, piece by piece. ``offset`` counts bytes of the unpacked text."""

    def __init__(self, blocks: Iterator[bytes], offset: int = 0) -> None:
        """Reads up to the first event. Raises TraceError when there is none to come. The first block stands
        at ``offset``."""
        self._blocks = blocks
        self.offset = offset
        """Where ``buffer`` begins."""
        self.buffer = b""
        """What has been read and not been taken."""
        self.ended_by = ""
        """Why the file ends before its text does; empty while it does not."""
        self.header = self._read_header()
        """The text up to the list of events, without its bracket; empty when the list is all there is."""

    def more(self) -> bool:
        """Read on, twice as far as before; False at the end of the file."""
        blocks, length = [self.buffer], 0
        try:
            while length == 0 or length < len(self.buffer):
                blocks.append(next(self._blocks))
                length += len(blocks[-1])
        except StopIteration:
            pass
        except CutOff as error:
            self.ended_by = str(error)
        self.buffer = b"".join(blocks)
        return length > 0

    def fill(self) -> None:
        """Read until there is a piece worth decoding."""
        while len(self.buffer) < BLOCK_BYTES and self.more():
            pass

    def take(self, length: int) -> None:
        """Go on after the first ``length`` bytes of the buffer."""
        self.buffer = self.buffer[length:]
        self.offset += length

    def last_gap(self) -> tuple[int, int] | None:
        """Where the last event that ends in the buffer seems to end, and where the next begins."""
        reach = 4096
        while True:
            start = max(0, len(self.buffer) - reach)
            gaps = list(BETWEEN_EVENTS.finditer(self.buffer, start))
            if gaps:
                return gaps[-1].start() + 1, gaps[-1].end()
            if start == 0:
                return None
            reach *= 8

    def rest(self) -> bytes:
        """What follows, to the end of the file, as far as it can be a header."""
        while len(self.buffer) < LONGEST_HEADER and self.more():
            pass
        return self.buffer

    def _read_header(self) -> bytes:
        if not self.more():
            raise TraceError(f"it is no trace: {self.ended_by}" if self.ended_by else "it is empty")
        if self.buffer.startswith(_BYTE_ORDER_MARK):
            self.take(len(_BYTE_ORDER_MARK))
        refuse_foreign(self.buffer)
        while not self.buffer.lstrip(_WHITESPACE) and self.more():
            pass
        begin = len(self.buffer) - len(self.buffer.lstrip(_WHITESPACE))
        first = self.buffer[begin : begin + 1]
        if first == b"[":
            self.take(begin + 1)
            return b""
        if first != b"{":
            raise TraceError(not_json(self.buffer))
        searched = 0
        while True:
            found = _EVENTS.search(self.buffer, searched)
            if found is not None:
                header = self.buffer[: found.start()]
                self.take(found.end())
                return header
            searched = max(0, len(self.buffer) - LONGEST_KEY)
            if len(self.buffer) > LONGEST_HEADER or not self.more():
                raise TraceError("it has no traceEvents")
