"""What the server tells the client of its own accord."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from warplint_server.diagnostics import shown
from warplint_server.document import Document, Results
from warplint_server.notebook_document import NotebookDocument
from warplint_server.server import WarplintServer
from warplint_server.state import States
from warplint_server.watch import Watch
from warplint_server.workspace import Project


class Client:
    """Passes on what a session finds out, in the ways that this client understands."""

    def __init__(self, server: WarplintServer) -> None:
        self._server = server
        self._features = server.client_features
        self._watch = Watch(server)
        self._states = States(server)

    def publish(self, document: Document, results: Results) -> None:
        if not self._features.pulls:
            for uri, version in document.parts:
                self._publish(uri, [it.plain for it in shown(self._server, uri, results)], version)
        self.redraw(document)

    def redraw(self, document: Document) -> None:
        if self._features.draws and not isinstance(document, NotebookDocument):
            self._states.send(document)

    def withdraw(self, document: Document) -> None:
        if not self._features.pulls:
            for uri, version in document.parts:
                self._publish(uri, [], version)
        if self._features.draws and not isinstance(document, NotebookDocument):
            self._states.clear(document)

    def closed(self, document: Document) -> None:
        for uri, _ in document.parts:
            self.closed_part(uri)
        self._states.cancel(document)

    def closed_part(self, uri: str) -> None:
        if not self._features.pulls:
            self._publish(uri, [], None)

    def refresh(self) -> None:
        """Ask a client that pulls to do so again; to others the new results are sent when they are there."""
        if self._features.pulls:
            self._server.workspace_diagnostic_refresh(None)
        if self._features.refreshes_code_lenses:
            self._server.workspace_code_lens_refresh(None)
        if self._features.refreshes_inlay_hints and not self._features.draws:
            self._server.workspace_inlay_hint_refresh(None)

    def warn(self, message: str) -> None:
        self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))
        self.log(message)

    def log(self, message: str) -> None:
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))

    def watch(self, project: Project) -> None:
        self._watch.add(project.root)

    def _publish(self, uri: str, items: list[Any], version: int | None) -> None:
        params = {"uri": uri, "diagnostics": items}
        of_version = {"version": version} if version is not None else {}
        self._server.notify_plain(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params | of_version)
