"""``# warplint: ignore[WL101]``: comments that silence findings on the statement they stand in."""

from __future__ import annotations

import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping

from warplint.project.notices import Notice
from warplint.project.selection import did_you_mean
from warplint.source.pattern import Pattern
from warplint.source.records import dataclass, field
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Edit, Finding

PRAGMA = Pattern(r"#\s*[Ww]arplint\s*(?::|(?=ignore))\s*(?P<rest>[^#]*)")
IGNORE = Pattern(r"ignore\s*(?:\[(?P<codes>[^\]]+)\](?=\W|$)|$)")
ACCEPTED = "write `# warplint: ignore[WL101]`, or `# warplint: ignore` for every rule"
ALONE = "a comment on a line of its own silences nothing: put it at the end of the statement"
LAYOUT = frozenset({tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


@dataclass(frozen=True, slots=True)
class Suppression:
    """The lines of one logical statement, and the codes silenced there; None means all.

    ``pragma`` is the comment's own part, up to the next ``#``; ``words`` are the codes and names as they
    stand in it, each with the code that it means.
    """

    first_line: int
    last_line: int
    codes: frozenset[str] | None
    pragma: Span
    words: tuple[tuple[str, str], ...] = ()

    def covers(self, code: str, line: int) -> bool:
        return self.first_line <= line <= self.last_line and (self.codes is None or code in self.codes)


@dataclass(frozen=True, slots=True)
class Unused:
    """A pragma that silences nothing, or the ``words`` in it that do not, and the edit that removes them.

    ``span`` is what could go: the words alone where others stay, if they stand together.
    """

    span: Span
    words: tuple[str, ...]
    edit: Edit


@dataclass(frozen=True, slots=True)
class Suppressions:
    """What one file's comments silence, and which of them are not understood."""

    entries: tuple[Suppression, ...] = ()
    notices: tuple[Notice, ...] = ()

    def hide(self, code: str, *lines: int) -> bool:
        """Whether a comment silences this code on one of these lines."""
        return any(entry.covers(code, line) for line in lines for entry in self.entries)

    def unused(self, source: SourceText, found: Collection[tuple[str, int]]) -> Iterator[Unused]:
        """What silences nothing of all that was ``found``, as codes and lines."""
        for entry in self.entries:
            here = {code for code, line in found if entry.covers(code, line)}
            words = tuple(word for word, code in entry.words if code not in here)
            if not here or (words and len(words) == len(entry.words)):
                yield Unused(_trimmed(source, entry.pragma), words, _removal(source, entry.pragma))
            elif words:
                left = ", ".join(word for word, code in entry.words if code in here)
                text = source.text
                start = text.index("[", entry.pragma.start) + 1
                listed = Span(start, text.index("]", start))
                gone = _words_together(text, listed, entry, here)
                yield Unused(gone or _trimmed(source, entry.pragma), words, Edit(listed, left))


def read_suppressions(source: SourceText, words: Mapping[str, str], strict: bool = True) -> Suppressions:
    """Read a file's pragmas. ``words`` are the codes and names they may use, with the codes these stand for.

    Unless ``strict``, nothing is said about other words: they may be those of rules that are not loaded.
    Only a text that may have one is tokenized.
    """
    if not may_have_pragma(source.text):
        return Suppressions()
    entries: list[Suppression] = []
    notices: list[Notice] = []
    for statement in _logical_lines(source):
        for comment in statement.comments:
            for pragma in PRAGMA.finditer(source.text, comment.start, comment.end):
                listed, complaint = _parse(pragma["rest"].strip(), words, strict)
                if statement.is_empty:
                    complaint = complaint or ALONE
                elif listed is not None:
                    codes = frozenset(code for _, code in listed) or None
                    where = Span(pragma.start(), pragma.end())
                    entries.append(Suppression(statement.first, statement.last, codes, where, listed))
                if complaint is not None:
                    length = len(pragma.group().rstrip())
                    notices.append(Notice(Span(pragma.start(), pragma.start() + length), complaint))
    return Suppressions(tuple(entries), tuple(notices))


def may_have_pragma(text: str) -> bool:
    """Whether a text is worth looking through for comments that are for us."""
    return "arplint" in text


def silencing_edit(source: SourceText, finding: Finding) -> Edit:
    """The edit that silences a finding: its code in a comment at the end of its statement."""
    return silencing_edits(source, [finding])[0]


def silencing_edits(source: SourceText, findings: Iterable[Finding]) -> list[Edit]:
    """The edits that silence findings, one for each statement they stand in."""
    codes: dict[int, dict[str, None]] = {}
    statements = list(_logical_lines(source))
    for finding in findings:
        line = source.position(finding.span.start).line
        index = next(index for index, found in enumerate(statements) if found.first <= line <= found.last)
        codes.setdefault(index, {})[finding.code] = None
    return [_silencing(source, statements[index], ", ".join(codes[index])) for index in sorted(codes)]


def _silencing(source: SourceText, statement: _LogicalLine, codes: str) -> Edit:
    for comment in statement.comments:
        for pragma in PRAGMA.finditer(source.text, comment.start, comment.end):
            listed = IGNORE.match(pragma["rest"])
            if listed is not None and listed["codes"] is not None:
                place = pragma.start("rest") + listed.end("codes")
                return Edit(Span(place, place), f", {codes}")
    place = source.line_starts[statement.last - 1] + len(source.line(statement.last))
    return Edit(Span(place, place), f"  # warplint: ignore[{codes}]")


def _words_together(text: str, listed: Span, entry: Suppression, used: Collection[str]) -> Span | None:
    """The words that silence nothing, from the first to the last; None if one between them does."""
    place = listed.start
    spans: list[Span] = []
    verdicts: list[bool] = []
    for word, code in entry.words:
        start = text.index(word, place)
        place = start + len(word)
        spans.append(Span(start, place))
        verdicts.append(code in used)
    first = verdicts.index(False)
    last = len(verdicts) - 1 - verdicts[::-1].index(False)
    return None if any(verdicts[first:last]) else Span(spans[first].start, spans[last].end)


def _trimmed(source: SourceText, span: Span) -> Span:
    return Span(span.start, span.start + len(source.text[span.start : span.end].rstrip()))


def _removal(source: SourceText, pragma: Span) -> Edit:
    """The edit that takes a pragma out of its line, and the blanks before it where it ends the line."""
    before, after = source.text[: pragma.start], source.text[pragma.end :]
    start = pragma.start if after.startswith("#") else len(before.rstrip(" \t\f"))
    return Edit(Span(start, pragma.end), "")


def _parse(
    text: str, words: Mapping[str, str], strict: bool
) -> tuple[tuple[tuple[str, str], ...] | None, str | None]:
    """The words of a pragma with their codes (none: all; None: it silences nothing), and what is wrong."""
    match = IGNORE.match(text)
    if match is None:
        return None, f"{text!r} is not understood: {ACCEPTED}"
    if match["codes"] is None:
        return (), None
    listed = [word.strip() for word in match["codes"].split(",")]
    known = tuple((word, words[word]) for word in listed if word in words)
    unknown = next((word for word in listed if word not in words), None)
    if unknown is None or not strict:
        return known or None, None
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
