"""notebookDocument/didOpen, didChange and didClose."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from warplint_server.server import WarplintServer


def did_open(server: WarplintServer, params: types.DidOpenNotebookDocumentParams) -> None:
    notebook = params.notebook_document
    path = to_fs_path(notebook.uri)
    if path and notebook.uri.startswith("file:"):
        texts = {item.uri: item for item in params.cell_text_documents}
        cells = [texts[cell.document] for cell in notebook.cells if cell.document in texts]
        server.session.open_notebook(notebook.uri, Path(path), notebook.version, cells)


def did_change(server: WarplintServer, params: types.DidChangeNotebookDocumentParams) -> None:
    identifier, cells = params.notebook_document, params.change.cells
    if cells is not None:
        server.session.change_cells(identifier.uri, identifier.version, cells)


def did_close(server: WarplintServer, params: types.DidCloseNotebookDocumentParams) -> None:
    server.session.close(params.notebook_document.uri)
