"""The server object that request handlers are given."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from warplint import __version__
from warplint_server.client_features import ClientFeatures
from warplint_server.closed_files_client import ClosedFiles
from warplint_server.configuration import Configuration
from warplint_server.session import Session

Handler = Callable[..., Any]

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithNotebook(
            types.NotebookDocumentFilterNotebookType("jupyter-notebook"),
            cells=[types.NotebookCellLanguage("python")],
        )
    ]
)

logger = logging.getLogger(__name__)


class WarplintServer(LanguageServer):
    """One client's server. ``session`` is there from ``initialize`` on."""

    session: Session

    def __init__(self, poll_s: float) -> None:
        """``poll_s`` is how often folders are looked at where no file events arrive."""
        super().__init__("warplint", __version__, notebook_document_sync=NOTEBOOKS)
        self.poll_s = poll_s
        self.client_features = ClientFeatures()
        self.configuration = Configuration(self)
        self.closed_files = ClosedFiles()
        self.shut_down = False

    def answer(self, method: str, handler: Handler, options: object = None) -> None:
        """Have messages of a method answered by a function of this server and their parameters."""
        self.feature(method, options)(partial(handler, self))

    def plain(self, message: object) -> Any:
        """What a message of the protocol is in JSON, as dictionaries and lists."""
        return self.protocol._converter.unstructure(message)

    def notify_plain(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that is plain already: pygls makes every message so anew, part by part."""
        self.protocol._send_data({"jsonrpc": self.protocol.VERSION, "method": method, "params": params})

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what went wrong with a message. pygls would open a window in the editor at every keystroke."""
        message = f"{source.__name__}: {error}"
        logger.error(message)
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))
