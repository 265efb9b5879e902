"""textDocument/codeAction and codeAction/resolve: a finding's fix, its suppression, and all safe fixes."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from warplint.source.span import Span
from warplint.static.finding import Edit
from warplint_server import fixing
from warplint_server.diagnostics import diagnostic, location
from warplint_server.document import Document, Results
from warplint_server.offers import FIX_ALL, Offer, offered
from warplint_server.server import WarplintServer

KINDS: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL]


async def code_action(server: WarplintServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The actions for a range. Their edits are left to ``resolve`` where the client can ask for them."""
    settled = await server.session.settled(params.text_document.uri)
    if settled is None:
        return []
    document, results = settled
    uri = params.text_document.uri
    where = server.session.positions_in(uri, results.source).span(results.source, params.range)
    unfixable = fixing.missing()
    actions = []
    for index, offer in enumerate(offered(results, where)):
        if not _asked_for(offer.kind, params.context.only):
            continue
        action = _action(server, uri, results, offer)
        if unfixable and offer.rewrites:
            if server.client_features.shows_disabled_actions:
                actions.append(_disabled(action, unfixable))
            continue
        if server.client_features.resolves_edits:
            action.data = {
                "uri": uri,
                "version": document.version,
                "where": [where.start, where.end],
                "index": index,
            }
        elif made := await _made(server, offer):
            action.edit = _workspace_edit(server, document, results, made)
        else:
            continue
        actions.append(action)
    return actions


async def resolve(server: WarplintServer, action: types.CodeAction) -> types.CodeAction:
    """Fill in the edit of an action that was given out without one.

    The answer is an error when the text or the configuration has changed since, or when no fix is right
    after all.
    """
    data = action.data
    if not isinstance(data, dict):
        raise JsonRpcException("this action is not of this server", types.ErrorCodes.InvalidParams)
    settled = await server.session.settled(data["uri"])
    if settled is None or settled[0].version != data["version"]:
        raise JsonRpcException("the text has changed since", types.LSPErrorCodes.ContentModified)
    document, results = settled
    offers = list(offered(results, Span(*data["where"])))
    offer = offers[data["index"]] if data["index"] < len(offers) else None
    if offer is None or offer.title != action.title:
        raise JsonRpcException("the findings have changed since", types.LSPErrorCodes.ContentModified)
    made = await _made(server, offer)
    if not made:
        raise JsonRpcException("no edit is right here after all", types.LSPErrorCodes.RequestFailed)
    action.edit = _workspace_edit(server, document, results, made)
    return action


def _asked_for(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Kinds are a hierarchy, parts between dots: ``source`` asks for ``source.fixAll.warplint`` too."""
    wanted = [str(getattr(item, "value", item)) for item in only or [""]]
    return any(item == "" or f"{kind}.".startswith(f"{item}.") for item in wanted)


async def _made(server: WarplintServer, offer: Offer) -> tuple[Edit, ...]:
    return await server.session.engine_worker.call(offer.edits)


def _action(server: WarplintServer, uri: str, results: Results, offer: Offer) -> types.CodeAction:
    return types.CodeAction(
        offer.title,
        kind=offer.kind,
        is_preferred=offer.preferred or None,
        diagnostics=[diagnostic(server, uri, results, offer.finding)] if offer.finding else None,
    )


def _disabled(action: types.CodeAction, reason: str) -> types.CodeAction:
    """An action that is shown with the reason why it cannot be chosen."""
    action.disabled = types.CodeActionDisabled(reason)
    action.is_preferred = None
    return action


def _workspace_edit(
    server: WarplintServer, document: Document, results: Results, edits: Sequence[Edit]
) -> types.WorkspaceEdit:
    """The edits in the client's positions, for this version of the text where the client can tell."""
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        place = location(server, document.uri, results.source, edit.span)
        changes.setdefault(place.uri, []).append(types.TextEdit(place.range, edit.text))
    if not get_capability(server.client_capabilities, "workspace.workspace_edit.document_changes", False):
        return types.WorkspaceEdit(changes=changes)
    versions = dict(document.parts)
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, versions[uri]), made)
            for uri, made in changes.items()
        ]
    )
