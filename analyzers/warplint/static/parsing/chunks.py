"""A text cut at its top-level statements, each piece parsed by itself.

A piece that does not parse leaves the others alone, and a piece whose text did not change is not parsed
again. Positions on a piece's nodes count from the piece's own start: it is the same wherever it stands.
"""

from __future__ import annotations

import ast
import bisect
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise

from warplint.source.diffs import common_end, common_start
from warplint.source.pattern import Pattern
from warplint.source.records import dataclass
from warplint.static.parsing.mention import Searched
from warplint.static.parsing.outline import Outline
from warplint.static.parsing.tree import calls_assigned, parents_of

_SHORT = r"""{q}[^{q}\\\r\n]*(?:\\(?:\r\n|[\s\S])[^{q}\\\r\n]*)*{q}?"""
_LONG = r"""{q}{q}{q}[^{q}\\]*(?:(?:\\[\s\S]|{q}(?!{q}{q}))[^{q}\\]*)*(?:{q}{q}{q})?"""
_ANY_STRING = "|".join(form.format(q=quote) for form in (_LONG, _SHORT) for quote in "\"'")
# An f-string whose fields hold neither quotes nor braces needs no closer look.
_PLAIN_FSTRING = r"""{q}(?!{q})[^{q}\\{{}}\r\n]*(?:\{{[^"'\\{{}}\r\n\#]*\}}[^{q}\\{{}}\r\n]*)*{q}"""

# Everything up to the next place where a statement can start or a bracket changes the depth. A backslash at
# the start of a line starts none: the next line's indentation counts, which may be that of a block. The last
# alternative takes any character: the pattern always matches where it stands and so never backtracks.
_TOKEN = Pattern(
    rf"""
    (?: [^"'()\[\]{{}}\\\#\r\n]+
      | [\r\n]+(?=[ \t])
      | \#[^\r\n]*
      | \\(?:\r\n|[\s\S])
      | [(\[{{][^()\[\]{{}}'"\#\\\r\n]*[)\]}}]
      | (?<![fFtT])(?<![fFtT][rR])(?:{_ANY_STRING})
      | (?<=[fFtTrR])(?:{_PLAIN_FSTRING.format(q='"')}|{_PLAIN_FSTRING.format(q="'")})
    )*
    (?: (?P<line>[\r\n]+(?=\f*[^\s\#\\]))
      | (?P<open>[(\[{{]+)
      | (?P<close>[)\]}}]+)
      | (?P<quote>["'])
      | [\s\S] | \Z
    )
    """,
    re.VERBOSE,
)
_STRING = Pattern(_ANY_STRING)
_PREFIX = Pattern(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")
_FSTRING = Pattern(r"""(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])(\"\"\"|\'\'\'|"|')""")
_IN_FSTRING = Pattern(r"""\\(?:\r\n|[\s\S])|\{\{|\{|["'\r\n]""")
_IN_FIELD = Pattern(r"""[(\[{)\]}:'"\r\n]|\#[^\r\n]*""")
_IN_FORMAT = Pattern(r"""[{}'"\r\n]""")

_FIRST_STATEMENT = Pattern(r"(?:[ \t]*\f)*[^\s#]")
_CONTINUES = Pattern(r"[ \t\f]*(?:else|elif|except|finally)\b")
_DECORATOR = Pattern(r"[ \t\f]*@")
# Words that start a statement and can stand nowhere inside brackets: seeing one there means that a bracket
# was never closed, and that the damage ends here.
_STATEMENT = Pattern(
    r"[ \t\f]*(?:(?:def|class|import|while|with|try|return|raise|del|global|assert|pass)\b"
    r"|async\s+(?:def|with)\b|from\s+[\w.]+\s+import\b)"
)

_LOOKED_AHEAD = 3
"""Pieces after its start on which a piece's start can depend: ``from``, ``torch`` and ``import`` may stand on
lines of their own."""
_LOOKED_BEHIND = 4
"""Characters before its start on which a piece can depend: the end of a line, the prefix of a string."""


def starts(text: str) -> list[int]:
    """The offset at which each piece starts: the first is 0, the others are starts of lines.

    A piece is one top-level statement with its decorators and clauses (or several joined by ``;``), and the
    blank lines and comments that follow it. Works on any text.
    """
    return [0, *starts_after(text, 0)]


def starts_after(text: str, start: int) -> Iterator[int]:
    """The starts of the pieces that follow the one that starts at ``start``.

    They depend on nothing before that place.
    """
    depth = 0
    decorated = _DECORATOR.match(text, start) is not None
    seen_statement = start > 0 or _FIRST_STATEMENT.match(text) is not None
    position = start
    while position >= 0:
        resume = -1
        for token in _TOKEN.finditer(text, position):
            kind = token.lastgroup
            if kind is None:
                continue
            if kind == "open":
                depth += token.end() - token.start(kind)
            elif kind == "close":
                depth = max(0, depth - (token.end() - token.start(kind)))
            elif kind == "quote":
                resume = _string_end(text, token.start(kind))
                break
            else:
                start = token.end()
                if depth and not _STATEMENT.match(text, start):
                    continue
                depth = 0
                if _CONTINUES.match(text, start):
                    continue
                if seen_statement and not decorated:
                    yield start
                seen_statement = True
                decorated = _DECORATOR.match(text, start) is not None
        position = resume


def _string_end(text: str, quote: int) -> int:
    """The offset after the string whose first quote stands at ``quote`` and whose prefix may be an f."""
    prefix = _PREFIX.search(text, max(0, quote - 3), quote)
    opening = _FSTRING.match(text, prefix.start()) if prefix else None
    if opening:
        return _fstring_end(text, opening.end(), opening.group(1))
    plain = _STRING.match(text, quote)
    assert plain is not None, "called at a quote"
    return plain.end()


def _fstring_end(text: str, position: int, quote: str) -> int:
    """The offset after the f-string whose opening ends at ``position``; its line's end if unclosed."""
    while match := _IN_FSTRING.search(text, position):
        token = match.group()
        position = match.end()
        if token[0] == quote[0]:
            if text.startswith(quote, match.start()):
                return match.start() + len(quote)
        elif token in {"\r", "\n"}:
            if len(quote) == 1:
                return match.start()
        elif token == "{":
            position = _field_end(text, position, quote)
    return len(text)


def _field_end(text: str, position: int, quote: str) -> int:
    """The offset after the replacement field whose ``{`` ends at ``position``."""
    depth = 0
    while match := _IN_FIELD.search(text, position):
        token = match.group()
        position = match.end()
        if token in {"(", "[", "{"}:
            depth += 1
        elif token == "}" and depth == 0:
            return position
        elif token in {")", "]", "}"}:
            depth = max(0, depth - 1)
        elif token == ":" and depth == 0:
            return _format_end(text, position, quote)
        elif token in {"\r", "\n"} and len(quote) == 1 and (depth == 0 or _STATEMENT.match(text, position)):
            return match.start()
        elif token in {'"', "'"}:
            position = _string_end(text, match.start())
    return len(text)


def _format_end(text: str, position: int, quote: str) -> int:
    """The offset after a field whose format specification starts at ``position``; it may hold fields."""
    while match := _IN_FORMAT.search(text, position):
        token = match.group()
        position = match.end()
        if token == "}":
            return position
        if token == "{":
            position = _field_end(text, position, quote)
        elif (len(quote) == 1 and token in {quote, "\r", "\n"}) or (
            token == quote[0] and text.startswith(quote, match.start())
        ):
            return match.start()
    return len(text)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a piece cannot be analysed; ``line`` (from 1) and ``column`` (characters from 0) count in it."""

    message: str
    line: int
    column: int


class Chunk:
    """One piece of a text. ``tree`` is empty where ``fault`` says why it cannot be read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.fault: Fault | None = None
        self._mentioned: dict[str, bool] = {}
        self.tree = ast.Module([], [])
        try:
            self.tree = ast.parse(text)
        except SyntaxError as error:
            self.fault = Fault(error.msg, error.lineno or 1, max(0, (error.offset or 1) - 1))
        except (RecursionError, MemoryError):
            self.fault = Fault("nested too deeply to be parsed", 1, 0)
        except ValueError as error:
            self.fault = Fault(str(error), 1, 0)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Each node's parent, within this piece."""
        return parents_of(self.tree)

    @cached_property
    def _searched(self) -> Searched:
        return Searched(self.text)

    def mentions(self, pattern: str) -> bool:
        """Whether a pattern is found in the text, which is searched once."""
        if pattern not in self._mentioned:
            self._mentioned[pattern] = self._searched.mentions(pattern)
        return self._mentioned[pattern]

    @cached_property
    def made(self) -> tuple[tuple[str, ast.Call], ...]:
        """What names and attributes are assigned that is called, without methods of it: ``Net().train()``."""
        return tuple(calls_assigned(self.tree))

    @cached_property
    def outline(self) -> Outline:
        """The functions, classes, blocks and calls of this piece."""
        return Outline(self.tree)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A chunk where it stands in one version of a text: its first character and its first line, from 1."""

    chunk: Chunk
    start: int
    line: int

    @property
    def end(self) -> int:
        return self.start + len(self.chunk.text)


def whole(text: str) -> Placed | None:
    """A text that is not to be edited, as one chunk; None if it does not parse."""
    with quiet_parser():
        chunk = Chunk(text)
    return Placed(chunk, 0, 1) if chunk.fault is None else None


def split(text: str, line_starts: list[int], known: Mapping[str, Chunk]) -> list[Placed]:
    """Cut a text into chunks, taking those with an unchanged text from ``known``."""
    return _placed(text, line_starts, known, [*starts(text), len(text)])


def split_again(text: str, line_starts: list[int], before: str, placed: Sequence[Placed]) -> list[Placed]:
    """The same as ``split``, looking only at where a text differs from the one before it, ``placed``."""
    same = common_start(before, text)
    moved = len(text) - len(before)
    last = max(0, bisect.bisect_right(placed, same, key=_start) - 1 - _LOOKED_AHEAD)
    # Where the texts agree to their ends again; a line's end before a piece belongs to how it is found.
    agreed = len(text) - common_end(before, text, same) + _LOOKED_BEHIND
    offsets = [placed[last].start if placed else 0]
    resumed = len(placed)
    for start in starts_after(text, offsets[0]):
        if start >= agreed:
            met = bisect.bisect_left(placed, start - moved, key=_start)
            if met < len(placed) and placed[met].start + moved == start:
                resumed = met
                break
        offsets.append(start)
    end = placed[resumed].start + moved if resumed < len(placed) else len(text)
    known = {each.chunk.text: each.chunk for each in placed[last:resumed]}
    between = _placed(text, line_starts, known, [*offsets, end])
    if resumed == len(placed):
        return [*placed[:last], *between]
    lines = bisect.bisect_right(line_starts, end) - placed[resumed].line
    after = [Placed(each.chunk, each.start + moved, each.line + lines) for each in placed[resumed:]]
    return [*placed[:last], *between, *(after if moved or lines else placed[resumed:])]


def _start(placed: Placed) -> int:
    return placed.start


def _placed(
    text: str, line_starts: list[int], known: Mapping[str, Chunk], offsets: Sequence[int]
) -> list[Placed]:
    """The chunks between offsets, the last of which is where they end."""
    placed: list[Placed] = []
    taken: set[int] = set()
    with quiet_parser():
        for start, end in pairwise(offsets):
            piece = text[start:end]
            chunk = known.get(piece)
            # The same text twice in one file is two chunks: a node must stand in one place only.
            if chunk is None or id(chunk) in taken:
                chunk = Chunk(piece)
            taken.add(id(chunk))
            placed.append(Placed(chunk, start, bisect.bisect_right(line_starts, start)))
    return placed


@contextmanager
def quiet_parser() -> Iterator[None]:
    """Parsing warns of invalid escapes in the analysed text, which is no business of our output."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
