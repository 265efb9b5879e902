"""textDocument/inlayHint: what a line cost, at its end. For clients that do not draw costs themselves."""

from __future__ import annotations

from lsprotocol import types

from warplint_server.document import Results
from warplint_server.line_costs import LineText, line_costs
from warplint_server.measured import STALE, marked, origin
from warplint_server.notebook_document import NotebookDocument
from warplint_server.server import WarplintServer


async def inlay_hint(server: WarplintServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    settled = await server.session.settled(params.text_document.uri)
    if settled is None or isinstance(settled[0], NotebookDocument):
        return []
    document, results = settled
    wanted = range(params.range.start.line + 1, params.range.end.line + 2)
    return [
        _hint(server, results, cost)
        for cost in line_costs(results.measured, document.settings)
        if cost.line in wanted
    ]


def _hint(server: WarplintServer, results: Results, cost: LineText) -> types.InlayHint:
    source, profile = results.source, results.measured.profile
    assert profile is not None, "costs are of a capture"
    end = source.line_starts[cost.line - 1] + len(source.line(cost.line))
    return types.InlayHint(
        server.session.positions.position(source, end),
        marked(cost.text, cost.stale),
        tooltip=STALE if cost.stale else origin(profile),
        padding_left=True,
    )
