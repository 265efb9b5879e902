"""``# warplint: ignore[WL101]``: comments that silence findings on the statement they stand in."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from warplint.project.notices import Notice
from warplint.project.selection import did_you_mean
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Edit, Finding

PRAGMA = re.compile(r"#\s*[Ww]arplint\s*(?::|(?=ignore))\s*(?P<rest>[^#]*)")
IGNORE = re.compile(r"ignore\s*(?:\[(?P<codes>[^\]]+)\](?=\W|$)|$)")
ACCEPTED = "write `# warplint: ignore[WL101]`, or `# warplint: ignore` for every rule"
ALONE = "a comment on a line of its own silences nothing: put it at the end of the statement"
LAYOUT = frozenset({tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


@dataclass(frozen=True, slots=True)
class Suppression:
    """The lines of one logical statement, and the codes silenced there; None means all."""

    first_line: int
    last_line: int
    codes: frozenset[str] | None

    def covers(self, code: str, line: int) -> bool:
        return self.first_line <= line <= self.last_line and (self.codes is None or code in self.codes)


@dataclass(frozen=True, slots=True)
class Suppressions:
    """What one file's comments silence, and which of them are not understood."""

    entries: tuple[Suppression, ...] = ()
    notices: tuple[Notice, ...] = ()

    def hide(self, code: str, line: int) -> bool:
        return any(entry.covers(code, line) for entry in self.entries)


def read_suppressions(source: SourceText, words: Mapping[str, str]) -> Suppressions:
    """Read a file's pragmas. ``words`` are the codes and names they may use, with the codes these stand for.

    A text without the word costs one search; only others are tokenized.
    """
    if "arplint" not in source.text:
        return Suppressions()
    entries: list[Suppression] = []
    notices: list[Notice] = []
    for statement in _logical_lines(source):
        for comment in statement.comments:
            for pragma in PRAGMA.finditer(source.text, comment.start, comment.end):
                codes, complaint = _parse(pragma["rest"].strip(), words)
                if statement.is_empty:
                    complaint = complaint or ALONE
                elif codes is not None:
                    entries.append(Suppression(statement.first, statement.last, codes or None))
                if complaint is not None:
                    length = len(pragma.group().rstrip())
                    notices.append(Notice(Span(pragma.start(), pragma.start() + length), complaint))
    return Suppressions(tuple(entries), tuple(notices))


def silencing_edit(source: SourceText, finding: Finding) -> Edit:
    """The edit that silences a finding: its code in a comment at the end of its statement."""
    line = source.position(finding.span.start).line
    statement = next(found for found in _logical_lines(source) if found.first <= line <= found.last)
    for comment in statement.comments:
        for pragma in PRAGMA.finditer(source.text, comment.start, comment.end):
            listed = IGNORE.match(pragma["rest"])
            if listed is not None and listed["codes"] is not None:
                place = pragma.start("rest") + listed.end("codes")
                return Edit(Span(place, place), f", {finding.code}")
    place = source.line_starts[statement.last - 1] + len(source.line(statement.last))
    return Edit(Span(place, place), f"  # warplint: ignore[{finding.code}]")


def _parse(text: str, words: Mapping[str, str]) -> tuple[frozenset[str] | None, str | None]:
    """The codes a pragma silences (empty: all; None: nothing), and what is wrong with it."""
    match = IGNORE.match(text)
    if match is None:
        return None, f"{text!r} is not understood: {ACCEPTED}"
    if match["codes"] is None:
        return frozenset(), None
    listed = [word.strip() for word in match["codes"].split(",")]
    known = frozenset(words[word] for word in listed if word in words)
    unknown = next((word for word in listed if word not in words), None)
    if unknown is None:
        return known, None
    hint = did_you_mean(unknown, words) or did_you_mean(unknown.upper(), words)
    return known or None, f"there is no rule {unknown!r}{hint}"


@dataclass(slots=True)
class _LogicalLine:
    """The lines from ``first`` to ``last`` that Python reads as one, and the comments in them."""

    first: int
    last: int
    is_empty: bool = True
    comments: list[Span] = field(default_factory=list)


def _logical_lines(source: SourceText) -> Iterator[_LogicalLine]:
    """The text in logical lines; from where it cannot be tokenized, each physical line is one."""
    lines = source.lines()
    current: _LogicalLine | None = None
    done = 0
    try:
        # Fed line by line, the tokenizer counts lines as SourceText does, lone carriage returns included.
        for token in tokenize.generate_tokens(iter([line + "\n" for line in lines]).__next__):
            current = current or _LogicalLine(token.start[0], token.start[0])
            current.last = token.end[0] if token.type not in LAYOUT else current.last
            if token.type == tokenize.COMMENT:
                start = source.line_starts[token.start[0] - 1] + token.start[1]
                current.comments.append(Span(start, start + len(token.string)))
            elif token.type == tokenize.NEWLINE or (token.type == tokenize.NL and current.is_empty):
                yield current
                current, done = None, token.start[0]
            elif token.type not in LAYOUT:
                current.is_empty = False
    except (tokenize.TokenError, SyntaxError):
        for number in range(done + 1, len(lines) + 1):
            yield _physical_line(source, number)


def _physical_line(source: SourceText, number: int) -> _LogicalLine:
    start = source.line_starts[number - 1]
    end = start + len(source.line(number))
    pragmas = [Span(match.start(), match.end()) for match in PRAGMA.finditer(source.text, start, end)]
    return _LogicalLine(number, number, is_empty=False, comments=pragmas)
