"""What the server tells the client of its own accord."""

from __future__ import annotations

from lsprotocol import types

from warplint_server.diagnostics import diagnostics
from warplint_server.document import Document, Results
from warplint_server.server import WarplintServer
from warplint_server.watch import Watch
from warplint_server.workspace import Project


class Client:
    """Passes on what a session finds out, in the ways that this client understands."""

    def __init__(self, server: WarplintServer) -> None:
        self._server = server
        self._watch = Watch(server)

    def publish(self, document: Document, results: Results) -> None:
        if not self._server.pulls:
            items = diagnostics(document.uri, results, self._server.session.positions)
            self._server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(document.uri, items, version=document.version)
            )

    def refresh(self) -> None:
        """Ask a client that pulls to do so again; to others the new results are sent when they are there."""
        if self._server.pulls:
            self._server.workspace_diagnostic_refresh(None)

    def warn(self, message: str) -> None:
        self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))
        self.log(message)

    def log(self, message: str) -> None:
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))

    def watch(self, project: Project) -> None:
        self._watch.add(project.root)
