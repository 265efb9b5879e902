"""One file's text, as Python's own tokenizer would read it, with every way of counting positions in it."""

from __future__ import annotations

import ast
import bisect
import codecs
import io
import re
import tokenize
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from warplint.source.span import Position, Span

# Python ends a line at \n, \r\n or \r and nowhere else; str.splitlines also splits at form feeds and U+2028.
LINE_END = re.compile(r"\r\n|\n|\r")


# Lone surrogates are no text: CPython refuses them, and they cannot be written back.
SURROGATE = re.compile("[\ud800-\udfff]")


_NOT_DECLARED = "invalid or missing encoding declaration"
"""What ``tokenize`` says of bytes that are not UTF-8 where nothing says what else they are."""
UNDECLARED = "it is not UTF-8: save it so, or name its encoding in the first line (`# coding: latin-1`)"


class SourceError(Exception):
    """Bytes that are not Python source: the message says why in a phrase, ``offset`` which byte it was."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.offset = offset


class SourceText:
    """The decoded text of one file.

    ``text`` keeps line endings as they stand in the file and has no byte order mark; ``encode`` gives the
    file's bytes back in its own encoding.
    """

    def __init__(self, text: str, path: Path, encoding: str = "utf-8") -> None:
        self.text = text
        self.path = path
        self.encoding = encoding

    @classmethod
    def read(cls, path: Path) -> SourceText:
        """Read a file. Raises SourceError (see ``decode``) or OSError."""
        return cls.decode(path.read_bytes(), path)

    @classmethod
    def decode(cls, data: bytes, path: Path) -> SourceText:
        """Decode as PEP 263 says: byte order mark, then cookie, then UTF-8.

        Raises SourceError for NUL bytes, an encoding Python does not know or that is not one of text, bytes
        that are not valid in it, and what decodes to characters no source can hold.
        """
        if (nul := data.find(b"\0")) >= 0:
            raise SourceError("the file holds a NUL byte", nul)
        try:
            # detect_encoding reports a mark as "utf-8-sig", whose codec also writes it back.
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            raise SourceError(
                f"the byte 0x{data[error.start]:02x} is not {error.encoding}", error.start
            ) from None
        except SyntaxError as error:
            reason = UNDECLARED if error.msg == _NOT_DECLARED else str(error.msg)
            raise SourceError(reason, _first_invalid_utf8(data)) from None
        except (LookupError, UnicodeError) as error:
            raise SourceError(str(error)) from None
        if "\0" in text or SURROGATE.search(text):
            raise SourceError(f"as {encoding}, the file holds characters that no source may")
        return cls(text, path, encoding)

    @classmethod
    def salvage(cls, data: bytes, path: Path) -> SourceText:
        """What can be shown of bytes that ``decode`` refuses; not for analysis, nor to be written back."""
        return cls(data.decode("utf-8", "replace"), path)

    def encode(self, text: str | None = None) -> bytes:
        """The bytes of ``text`` (this text if None) in this file's encoding, byte order mark included.

        Raises SourceError when the encoding has no such character.
        """
        text = self.text if text is None else text
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise SourceError(
                f"{character!a} cannot be written in {codecs.lookup(self.encoding).name}"
            ) from None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text in UTF-8, in hexadecimal: what ties a captured line to its text."""
        import hashlib  # It costs start-up, and `warplint check` needs no digest.

        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def line_starts(self) -> list[int]:
        """The character offset at which each line starts; index 0 is line 1."""
        if "\r" in self.text:
            return [0, *(match.end() for match in LINE_END.finditer(self.text))]
        lengths = [len(line) + 1 for line in self.text.split("\n")]
        return [0, *accumulate(lengths[:-1])]

    @property
    def line_count(self) -> int:
        return len(self.line_starts)

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its ending."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < self.line_count else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def lines(self) -> list[str]:
        """Every line without its ending; index 0 is line 1."""
        return LINE_END.split(self.text) if "\r" in self.text else self.text.split("\n")

    def offset(self, line: int, byte_column: int) -> int:
        """The character offset of an ast position: line from 1, column in UTF-8 bytes from 0."""
        start = self.line_starts[line - 1]
        prefix = self.text[start : start + byte_column]
        if prefix.isascii():
            return start + byte_column
        # Python parses no line with a lone surrogate, so what such a one counts as does not matter.
        encoded = self.line(line).encode("utf-8", "replace")[:byte_column]
        return start + len(encoded.decode("utf-8", "ignore"))

    def span(self, node: ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword) -> Span:
        """The range of an ast node whose positions count in this whole text."""
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None and end_column is not None, "ast.parse sets end positions"
        return Span(self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column))

    def position(self, offset: int) -> Position:
        """The line and column, both from 1, of a character offset."""
        line = bisect.bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def utf16(self, offset: int) -> tuple[int, int]:
        """The line from 0 and the column in UTF-16 units from 0, as the language server protocol counts."""
        line = bisect.bisect_right(self.line_starts, offset)
        prefix = self.text[self.line_starts[line - 1] : offset]
        return line - 1, len(prefix) + (0 if prefix.isascii() else sum(map(_is_astral, prefix)))

    def offset_utf16(self, line: int, column: int) -> int:
        """The character offset of a protocol position (both from 0); past the end of a line means its end."""
        if line >= self.line_count:
            return len(self.text)
        start = self.line_starts[line]
        for index, character in enumerate(self.line(line + 1)):
            if column <= 0:
                return start + index
            column -= 2 if _is_astral(character) else 1
        return start + len(self.line(line + 1))


def _is_astral(character: str) -> bool:
    """Whether UTF-16 needs two units for the character."""
    return character > "\uffff"


def _first_invalid_utf8(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0
