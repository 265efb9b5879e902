"""The server object that request handlers are given."""

from __future__ import annotations

import logging

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from warplint import __version__
from warplint_server.session import Session

logger = logging.getLogger(__name__)


class WarplintServer(LanguageServer):
    """One client's server. ``session`` is there from ``initialize`` on."""

    session: Session

    def __init__(self, poll_s: float) -> None:
        """``poll_s`` is how often folders are looked at where no file events arrive."""
        super().__init__("warplint", __version__)
        self.poll_s = poll_s
        self.pulls = False
        """Whether the client asks for diagnostics; they are sent to it unasked otherwise."""
        self.resolves_edits = False
        """Whether the client asks for a code action's edit when the user has chosen the action."""
        self.shut_down = False

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what went wrong with a message. pygls would open a window in the editor at every keystroke."""
        message = f"{source.__name__}: {error}"
        logger.error(message)
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))
