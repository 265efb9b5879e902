"""Findings as the editor draws them, however it comes by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from warplint.project.builtin import UNUSED_SUPPRESSION
from warplint.static.finding import Finding, Outcome, Severity
from warplint_server.document import Results
from warplint_server.measured import headline
from warplint_server.notebook_document import NotebookText
from warplint_server.positions import Columns
from warplint_server.rule_pages import address
from warplint_server.server import WarplintServer

if TYPE_CHECKING:
    from warplint.project.notices import Notice
    from warplint.project.result import FileResult
    from warplint.source.span import Span
    from warplint.source.text import SourceText
    from warplint.static.rules.rule import Rule

SOURCE = "warplint"
SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}
MOST_KEPT = 2_000
"""Diagnostics that are kept; each takes about 3 kB."""
UNNECESSARY = frozenset({UNUSED_SUPPRESSION.code})
"""Findings whose text could go: editors grey it out."""


class Shown:
    """A diagnostic as pygls wants it, and in JSON; kept for the next text, in which most are the same."""

    def __init__(self, server: WarplintServer, diagnostic: types.Diagnostic) -> None:
        self._server = server
        self.diagnostic = diagnostic

    @cached_property
    def plain(self) -> Any:
        return self._server.plain(self.diagnostic)


def shown(server: WarplintServer, uri: str, results: Results) -> list[Shown]:
    """Every finding, and every comment for us that is not understood."""
    source = results.source
    findings = [it for it in results.told if _stands_in(uri, source, it[0].span)]
    notices = [it for it in results.checked.notices if _stands_in(uri, source, it.span)]
    made = [
        _shown(server, uri, source, told, _message(results, told), results.rule(finding))
        for finding, told in findings
    ]
    return made + [Shown(server, notice) for notice in _notices(server, uri, source, notices)]


def diagnostics(server: WarplintServer, uri: str, results: Results) -> list[types.Diagnostic]:
    """The same, as pygls wants them."""
    return [it.diagnostic for it in shown(server, uri, results)]


def _stands_in(uri: str, source: SourceText, span: Span) -> bool:
    """Whether a place belongs to the document of a URI, and not to another cell of its notebook."""
    return not isinstance(source, NotebookText) or source.part_at(span.start).uri == uri


def diagnostics_of_file(
    server: WarplintServer, uri: str, result: FileResult, rules: Mapping[str, Rule]
) -> list[types.Diagnostic]:
    """The same of a file that is not open."""
    findings = [
        _diagnostic(server, uri, result.source, finding, finding.message, rules.get(finding.code))
        for finding in result.findings
    ]
    return findings + _notices(server, uri, result.source, result.notices)


def diagnostic(server: WarplintServer, uri: str, results: Results, finding: Finding) -> types.Diagnostic:
    """One finding. ``data`` says what ``warplint check --format json`` would."""
    told = next((told for known, told in results.told if known == finding), finding)
    message = _message(results, told)
    return _diagnostic(server, uri, results.source, told, message, results.rule(finding))


def _notices(
    server: WarplintServer, uri: str, source: SourceText, notices: Iterable[Notice]
) -> list[types.Diagnostic]:
    positions = server.session.positions_in(uri, source)
    return [
        types.Diagnostic(
            positions.range(source, notice.span),
            notice.message,
            severity=types.DiagnosticSeverity.Warning,
            source=SOURCE,
        )
        for notice in notices
    ]


def _diagnostic(
    server: WarplintServer,
    uri: str,
    source: SourceText,
    finding: Finding,
    message: str,
    rule: Rule | None,
) -> types.Diagnostic:
    return _shown(server, uri, source, finding, message, rule).diagnostic


def _shown(
    server: WarplintServer,
    uri: str,
    source: SourceText,
    finding: Finding,
    message: str,
    rule: Rule | None,
) -> Shown:
    positions = server.session.positions_in(uri, source)
    related = tuple((*_place(server, uri, source, each.span), each.message) for each in finding.related)
    return _made(
        server,
        positions.columns(source, finding.span),
        message,
        finding.severity.value,
        (finding.code, finding.name, finding.confidence.value, finding.hotness.value, finding.fix.value),
        address(finding.code, rule, server.client_features.shows_rule_pages),
        related,
    )


@lru_cache(maxsize=MOST_KEPT)
def _made(
    server: WarplintServer,
    columns: Columns,
    message: str,
    severity: str,
    said: tuple[str, str, str, str, str],
    page: str | None,
    related: tuple[tuple[str, Columns, str], ...],
) -> Shown:
    code, name, confidence, hotness, fix = said
    diagnostic = types.Diagnostic(
        _range(columns),
        message,
        severity=SEVERITY[Severity(severity)],
        code=code,
        code_description=types.CodeDescription(page) if page is not None else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if code in UNNECESSARY else None,
        related_information=[
            types.DiagnosticRelatedInformation(types.Location(uri, _range(place)), text)
            for uri, place, text in related
        ]
        or None,
        data={"name": name, "confidence": confidence, "hotness": hotness, "fix": fix},
    )
    return Shown(server, diagnostic)


def _range(columns: Columns) -> types.Range:
    start, end = columns
    return types.Range(types.Position(*start), types.Position(*end))


def _place(server: WarplintServer, uri: str, source: SourceText, span: Span) -> tuple[str, Columns]:
    """A place in the document of a URI, or in another cell of its notebook."""
    if isinstance(source, NotebookText):
        uri = source.part_at(span.start).uri
    return uri, server.session.positions_in(uri, source).columns(source, span)


def location(server: WarplintServer, uri: str, source: SourceText, span: Span) -> types.Location:
    """A place in the document of a URI, or in another cell of its notebook."""
    where, columns = _place(server, uri, source, span)
    return types.Location(where, _range(columns))


def _message(results: Results, finding: Finding) -> str:
    """The finding's message: as measuring left it, else with what its first line was measured to cost."""
    if finding.measured is not None and finding.measured.outcome is not Outcome.UNJUDGED:
        return finding.message
    line = results.source.position(finding.span.start).line
    placed = results.measured.costs.get(line)
    measured = headline(placed) if placed is not None else ""
    return f"{finding.message}\n{measured}" if measured else finding.message
