"""Findings as the editor draws them, however it comes by them."""

from __future__ import annotations

from lsprotocol import types

from warplint.project.builtin import UNUSED_SUPPRESSION
from warplint.static.finding import Finding, Severity
from warplint_server.document import Results
from warplint_server.measured import headline
from warplint_server.rule_pages import address
from warplint_server.server import WarplintServer

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
    positions = server.session.positions
    findings = [diagnostic(server, uri, results, finding) for finding in results.checked.findings]
    notices = [
        types.Diagnostic(
            positions.range(results.source, notice.span),
            notice.message,
            severity=types.DiagnosticSeverity.Warning,
            source=SOURCE,
        )
        for notice in results.checked.notices
    ]
    return findings + notices


def diagnostic(server: WarplintServer, uri: str, results: Results, finding: Finding) -> types.Diagnostic:
    """One finding. ``data`` says what ``warplint check --format json`` would."""
    positions = server.session.positions
    rule = results.rule(finding)
    page = address(finding.code, rule, server.client_features.shows_rule_pages)
    return types.Diagnostic(
        positions.range(results.source, finding.span),
        _message(results, finding),
        severity=SEVERITY[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(page) if page is not None else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in UNNECESSARY else None,
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(uri, positions.range(results.source, related.span)), related.message
            )
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


def _message(results: Results, finding: Finding) -> str:
    """The finding's message with what its first line was measured to cost."""
    line = results.source.position(finding.span.start).line
    placed = results.measured.costs.get(line)
    measured = headline(placed) if placed is not None else ""
    return f"{finding.message}\n{measured}" if measured else finding.message
