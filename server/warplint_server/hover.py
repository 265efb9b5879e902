"""textDocument/hover: what a line cost, why a finding on it matters, and what both are for the score."""

from __future__ import annotations

from lsprotocol import types
from pygls.capabilities import get_capability

from warplint.report.summary import SAID
from warplint.source.span import Span
from warplint_server.document import Results
from warplint_server.measured import markdown_table, plain_table
from warplint_server.rule_pages import reason
from warplint_server.score_table import markdown_score, plain_score
from warplint_server.server import WarplintServer

SEPARATOR = "\n\n---\n\n"
TABLES = {types.MarkupKind.Markdown: markdown_table, types.MarkupKind.PlainText: plain_table}
SCORES = {types.MarkupKind.Markdown: markdown_score, types.MarkupKind.PlainText: plain_score}


async def hover(server: WarplintServer, params: types.HoverParams) -> types.Hover | None:
    settled = await server.session.settled(params.text_document.uri)
    if settled is None:
        return None
    document, results = settled
    positions = server.session.positions_in(params.text_document.uri, results.source)
    offset = positions.offset(results.source, params.position)
    kind = _markup(server)
    line = results.source.position(offset).line
    parts = [*_costs(results, line, kind), *_reasons(results, offset)]
    if parts and (score := await server.session.score(document, results)) is not None:
        parts += filter(None, [SCORES[kind](score, line)])
    return types.Hover(types.MarkupContent(kind, SEPARATOR.join(parts))) if parts else None


def _markup(server: WarplintServer) -> types.MarkupKind:
    """Markdown, unless the client says that it cannot show any."""
    formats = get_capability(server.client_capabilities, "text_document.hover.content_format", None)
    plain = formats is not None and types.MarkupKind.Markdown not in formats
    return types.MarkupKind.PlainText if plain else types.MarkupKind.Markdown


def _costs(results: Results, line: int, kind: types.MarkupKind) -> list[str]:
    measured = results.measured
    placed = measured.costs.get(line)
    if placed is None or measured.profile is None:
        return []
    return [TABLES[kind](placed, measured.profile)]


def _reasons(results: Results, offset: int) -> list[str]:
    """Why each finding here matters, and what was measured of it."""
    parts = []
    for finding, told in results.told_in(Span(offset, offset)):
        rule = results.rule(finding)
        said = [told.measured.sentence] if told.measured is not None else []
        said += [reason(rule)] if rule is not None else []
        if said:
            outcome = f" ({SAID[told.measured.outcome]})" if told.measured is not None else ""
            parts.append("\n\n".join([f"**{finding.code} {finding.name}**{outcome}", *said]))
    return parts
