"""textDocument/diagnostic: diagnostics for clients that ask for them."""

from __future__ import annotations

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from warplint_server.diagnostics import diagnostics
from warplint_server.server import WarplintServer


async def pull(
    server: WarplintServer, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    """Answer with the findings of the text as it is now; waits for them."""
    uri = params.text_document.uri
    settled = await server.session.settled(uri)
    if settled is None:
        document = server.session.document(uri)
        if document is not None and document.settings.enabled:
            # An empty answer would wipe out what the client shows.
            raise JsonRpcException(f"{uri} could not be checked", types.LSPErrorCodes.RequestFailed)
        return types.RelatedFullDocumentDiagnosticReport([])
    _, results = settled
    identifier = str(results.number)
    if params.previous_result_id == identifier:
        return types.RelatedUnchangedDocumentDiagnosticReport(identifier)
    items = diagnostics(server, uri, results)
    return types.RelatedFullDocumentDiagnosticReport(items, result_id=identifier)
