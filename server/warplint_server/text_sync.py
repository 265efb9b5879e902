"""textDocument/didOpen, didChange and didClose.

These stand in for pygls's own: its texts end lines where ``str.splitlines`` does, form feeds included, and
edits after one would land on the wrong line.
"""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from warplint_server.document import python_path
from warplint_server.server import WarplintServer


def did_open(server: WarplintServer, params: types.DidOpenTextDocumentParams) -> None:
    item = params.text_document
    folder = next(iter(server.session.workspace.folders), Path.cwd())
    if (path := python_path(item, folder)) is not None:
        server.session.open(item.uri, path, item.version, item.text)


def did_change(server: WarplintServer, params: types.DidChangeTextDocumentParams) -> None:
    identifier = params.text_document
    server.session.change(identifier.uri, identifier.version, params.content_changes)


def did_close(server: WarplintServer, params: types.DidCloseTextDocumentParams) -> None:
    server.session.close(params.text_document.uri)
