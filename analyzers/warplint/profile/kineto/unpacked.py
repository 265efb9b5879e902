"""The bytes of a trace file, unpacked; and what files are that are often taken for one."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from warplint.profile.kineto.trace import TraceError

BLOCK_BYTES = 256 << 10
"""What is decoded at once: larger pieces leave the processor's cache and were slower, smaller ones no
faster."""

_GZIP = b"\x1f\x8b"
FOREIGN = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"),
    (b"BZh", "compressed with bzip2: unpack it first"),
    (b"\xfd7zXZ\x00", "compressed with xz: unpack it first"),
    (b"\xff\xfe", "text in UTF-16: a trace is UTF-8"),
    (b"\xfe\xff", "text in UTF-16: a trace is UTF-8"),
    (b"SQLite format 3", "a database: record with torch.profiler and export its Chrome trace"),
)
"""First bytes of files that are often taken for a trace, and what they are."""

_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257
"""POSIX ustar: ``magic`` of the first header."""


class CutOff(Exception):
    """The packed bytes end, or make no sense, before their text is whole."""


def file_blocks(path: Path) -> Iterator[bytes]:
    """The unpacked bytes of a trace file. Raises TraceError when it cannot be read, and CutOff."""
    try:
        with path.open("rb") as stream:
            first = stream.read(BLOCK_BYTES)
            yield from _unpacked(first, stream) if first.startswith(_GZIP) else _plain(first, stream)
    except OSError as error:
        raise TraceError(error.strerror or str(error)) from None


def is_packed(path: Path) -> bool:
    """Raises TraceError when it cannot be read."""
    return next(plain_blocks(path, 0, len(_GZIP)), b"") == _GZIP


def plain_blocks(path: Path, begin: int, end: int | None) -> Iterator[bytes]:
    """The bytes of a file from ``begin`` to ``end``, None for its end. Raises TraceError."""
    try:
        with path.open("rb") as stream:
            left = (os.fstat(stream.fileno()).st_size if end is None else end) - stream.seek(begin)
            while left > 0 and (block := stream.read(min(left, BLOCK_BYTES))):
                left -= len(block)
                yield block
    except OSError as error:
        raise TraceError(error.strerror or str(error)) from None


def _plain(block: bytes, stream: BinaryIO) -> Iterator[bytes]:
    while block:
        yield block
        block = stream.read(BLOCK_BYTES)


def _unpacked(packed: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Of a gzip file with any number of members."""
    unpack = _decompressor()
    while packed or (packed := stream.read(BLOCK_BYTES)):
        try:
            block = unpack.decompress(packed, BLOCK_BYTES)
        except zlib.error:
            raise CutOff("its gzip data is damaged") from None
        if block:
            yield block
        packed = unpack.unconsumed_tail
        if unpack.eof:
            # Zeros after the last member are padding.
            packed = unpack.unused_data.lstrip(b"\0") or stream.read(BLOCK_BYTES).lstrip(b"\0")
            if not packed:
                return
            unpack = _decompressor()
    raise CutOff("its gzip data is cut off")


def _decompressor() -> zlib._Decompress:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)


def refuse_foreign(begin: bytes) -> None:
    """Raises TraceError for what ``FOREIGN`` lists, and tar archives."""
    for magic, what in FOREIGN:
        if begin.startswith(magic):
            raise TraceError(f"it is {what}")
    if begin[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC):
        raise TraceError("it is a tar archive: unpack it first")


def not_json(begin: bytes) -> str:
    """What to say of text that begins no JSON object or list."""
    if b"\0" in begin:
        return "it is binary, not JSON"
    return f"it is not JSON: it begins with {begin.strip()[:20].decode('utf-8', 'replace')!r}"
