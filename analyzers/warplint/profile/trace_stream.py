"""Cuts a trace file into pieces of whole events, without ever holding the file.

The file is plain or gzipped JSON: an object with ``traceEvents``, or the bare list of events. What stands
round the list is kept as the header; the list comes in pieces that end between two events wherever that
could be told by looking for ``}, {`` (inside an event's strings and lists that can stand too, so whoever
decodes a piece must be ready to find that it does not end between two, and ask for ``more``).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from warplint.profile.trace import TraceError

BLOCK_BYTES = 256 << 10
"""What is decoded at once: larger pieces leave the processor's cache and were slower, smaller ones no
faster."""

LONGEST_HEADER = 64 << 20
"""More than this before the first event is no header: Kineto's lists processes and GPUs in a few thousand
bytes."""

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN_EVENTS = re.compile(rb"\}\s*,\s*(?=\{)")
_WHITESPACE = b" \t\r\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
FOREIGN = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"),
    (b"BZh", "compressed with bzip2: unpack it first"),
    (b"\xfd7zXZ\x00", "compressed with xz: unpack it first"),
    (b"\xff\xfe", "text in UTF-16: a trace is UTF-8"),
    (b"\xfe\xff", "text in UTF-16: a trace is UTF-8"),
    (b"SQLite format 3", "a database, as Nsight Systems writes: export the trace with torch.profiler"),
)
"""First bytes of files that are often taken for a trace, and what they are."""

_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257
"""POSIX ustar: ``magic`` of the first header."""


class TraceStream:
    """The bytes of one trace file, piece by piece. ``offset`` counts bytes of the unpacked text."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        """Reads up to the first event. Raises TraceError when there is none to come."""
        self._blocks = blocks
        self.offset = 0
        """Where ``buffer`` begins."""
        self.buffer = b""
        """What has been read and not been taken."""
        self.ended = False
        """Whether ``buffer`` reaches to the end of the file."""
        self.header = self._read_header()
        """The text up to the list of events, without its bracket."""

    def more(self) -> bool:
        """Read on; False at the end of the file."""
        block = next(self._blocks, b"")
        if not block:
            self.ended = True
            return False
        self.buffer = self.buffer + block if self.buffer else block
        return True

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
            gaps = list(_BETWEEN_EVENTS.finditer(self.buffer, start))
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
            raise TraceError("it is empty")
        if self.buffer.startswith(_BYTE_ORDER_MARK):
            self.take(len(_BYTE_ORDER_MARK))
        _refuse_foreign(self.buffer)
        while not self.buffer.lstrip(_WHITESPACE) and self.more():
            pass
        begin = len(self.buffer) - len(self.buffer.lstrip(_WHITESPACE))
        first = self.buffer[begin : begin + 1]
        if first == b"[":
            self.take(begin + 1)
            return b"{"
        if first != b"{":
            raise TraceError(_not_json(self.buffer))
        searched = 0
        while True:
            found = _EVENTS.search(self.buffer, searched)
            if found is not None:
                header = self.buffer[: found.start()]
                self.take(found.end())
                return header
            searched = max(0, len(self.buffer) - BLOCK_BYTES)
            if len(self.buffer) > LONGEST_HEADER or not self.more():
                raise TraceError("it has no traceEvents")


def file_blocks(path: Path) -> Iterator[bytes]:
    """The unpacked bytes of a trace file. Raises TraceError when it cannot be read or unpacked."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(_GZIP))
            stream.seek(0)
            yield from _unpacked(stream) if magic == _GZIP else _plain(stream)
    except OSError as error:
        raise TraceError(error.strerror or str(error)) from None


def _plain(stream: BinaryIO) -> Iterator[bytes]:
    while block := stream.read(BLOCK_BYTES):
        yield block


def _unpacked(stream: BinaryIO) -> Iterator[bytes]:
    """Of a gzip file with any number of members. One that is cut off or damaged ends early."""
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    packed = b""
    while packed := packed or stream.read(BLOCK_BYTES):
        try:
            block = unpack.decompress(packed, BLOCK_BYTES)
        except zlib.error:
            return
        if block:
            yield block
        packed = unpack.unconsumed_tail
        if unpack.eof:
            # Zeros after the last member are padding.
            packed = unpack.unused_data.lstrip(b"\0")
            unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)


def _refuse_foreign(begin: bytes) -> None:
    for magic, what in FOREIGN:
        if begin.startswith(magic):
            raise TraceError(f"it is {what}")
    if begin[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC):
        raise TraceError("it is a tar archive: unpack it first")


def _not_json(begin: bytes) -> str:
    if b"\0" in begin:
        return "it is binary, not JSON"
    return f"it is not JSON: it begins with {begin.strip()[:20].decode('utf-8', 'replace')!r}"
