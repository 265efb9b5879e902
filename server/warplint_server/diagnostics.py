"""Findings as the editor draws them, however it comes by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lsprotocol import types

from warplint.project.builtin import UNUSED_SUPPRESSION
from warplint.static.finding import Finding, Severity
from warplint_server.document import Results
from warplint_server.measured import headline
from warplint_server.notebook_document import NotebookText
from warplint_server.rule_pages import address
from warplint_server.server import WarplintServer

if TYPE_CHECKING:
    from warplint.project.notices import Notice
    from warplint.project.result import FileResult
    from warplint.source.span import Span
    from warplint.source.text import SourceText
    from warplint.static.rule import Rule

SOURCE = "warplint"
SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}
UNNECESSARY = frozenset({UNUSED_SUPPRESSION.code})
"""Findings whose text could go: editors grey it out."""


def diagnostics(server: WarplintServer, uri: str, results: Results) -> list[types.Diagnostic]:
    """Every finding, and every comment for us that is not understood."""
    source = results.source
    findings = [it for it in results.checked.findings if _stands_in(uri, source, it.span)]
    notices = [it for it in results.checked.notices if _stands_in(uri, source, it.span)]
    shown = [diagnostic(server, uri, results, finding) for finding in findings]
    return shown + _notices(server, uri, source, notices)


def _stands_in(uri: str, source: SourceText, span: Span) -> bool:
    """Whether a place belongs to the document of a URI, and not to another cell of its notebook."""
    return not isinstance(source, NotebookText) or source.part_at(span.start).uri == uri


def diagnostics_of_file(
    server: WarplintServer, uri: str, result: FileResult, rules: Mapping[str, Rule]
) -> list[types.Diagnostic]:
    """The same of a file that is not open; without what was measured, which is shown beside the code."""
    findings = [
        _diagnostic(server, uri, result.source, finding, finding.message, rules.get(finding.code))
        for finding in result.findings
    ]
    return findings + _notices(server, uri, result.source, result.notices)


def diagnostic(server: WarplintServer, uri: str, results: Results, finding: Finding) -> types.Diagnostic:
    """One finding. ``data`` says what ``warplint check --format json`` would."""
    message = _message(results, finding)
    return _diagnostic(server, uri, results.source, finding, message, results.rule(finding))


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
    positions = server.session.positions_in(uri, source)
    page = address(finding.code, rule, server.client_features.shows_rule_pages)
    return types.Diagnostic(
        positions.range(source, finding.span),
        message,
        severity=SEVERITY[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(page) if page is not None else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in UNNECESSARY else None,
        related_information=[
            types.DiagnosticRelatedInformation(location(server, uri, source, related.span), related.message)
            for related in finding.related
        ]
        or None,
        data={
            "name": finding.name,
            "confidence": finding.confidence.value,
            "hotness": finding.hotness.value,
            "fix": finding.fix.value,
        },
    )


def location(server: WarplintServer, uri: str, source: SourceText, span: Span) -> types.Location:
    """A place in the document of a URI, or in another cell of its notebook."""
    if isinstance(source, NotebookText):
        uri = source.part_at(span.start).uri
    return types.Location(uri, server.session.positions_in(uri, source).range(source, span))


def _message(results: Results, finding: Finding) -> str:
    """The finding's message with what its first line was measured to cost."""
    line = results.source.position(finding.span.start).line
    placed = results.measured.costs.get(line)
    measured = headline(placed) if placed is not None else ""
    return f"{finding.message}\n{measured}" if measured else finding.message
