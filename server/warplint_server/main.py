"""Puts the server together and runs it on standard input and output."""

from __future__ import annotations

import warplint_server.lean_types  # noqa: F401

# isort: split
import logging
import os
import sys
from functools import partial
from typing import BinaryIO

from lsprotocol import types

from warplint_server import (
    code_action,
    code_lens,
    configuration,
    hover,
    lifecycle,
    notebook_sync,
    rule_pages,
    text_sync,
    watch,
)
from warplint_server.server import Handler, WarplintServer
from warplint_server.watch import POLL_S

LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"

SYNC: dict[str, Handler] = {
    types.TEXT_DOCUMENT_DID_OPEN: text_sync.did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: text_sync.did_change,
    types.TEXT_DOCUMENT_DID_CLOSE: text_sync.did_close,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: notebook_sync.did_open,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: notebook_sync.did_change,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: notebook_sync.did_close,
}
FEATURES: dict[str, tuple[Handler, object]] = {
    types.INITIALIZE: (lifecycle.initialize, None),
    types.INITIALIZED: (lifecycle.initialized, None),
    types.SHUTDOWN: (lifecycle.shutdown, None),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (lifecycle.folders_changed, None),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (configuration.configuration_changed, None),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (watch.files_changed, None),
    types.TEXT_DOCUMENT_HOVER: (hover.hover, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        code_action.code_action,
        types.CodeActionOptions(code_action_kinds=code_action.KINDS, resolve_provider=True),
    ),
    types.TEXT_DOCUMENT_CODE_LENS: (code_lens.code_lens, types.CodeLensOptions(resolve_provider=False)),
    types.CODE_ACTION_RESOLVE: (code_action.resolve, None),
    rule_pages.RULE_PAGE: (rule_pages.rule_page, None),
}


def serve(poll_s: float = POLL_S) -> int:
    """Serve one client until it leaves; the exit status the protocol asks for.

    ``poll_s`` is how often folders are looked at where no file events arrive.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=LOG_FORMAT)
    # It warns of every request that is cancelled just after it was answered: with each quick keystroke.
    logging.getLogger("pygls.protocol.json_rpc").setLevel(logging.ERROR)
    server = WarplintServer(poll_s)
    for method, handler in SYNC.items():
        server.protocol.fm.add_builtin_feature(method, partial(handler, server))
    for method, (handler, options) in FEATURES.items():
        server.answer(method, handler, options)
    server.start_io(sys.stdin.buffer, _protocol_output())
    return 0 if server.shut_down else 1


def _protocol_output() -> BinaryIO:
    """Standard output for the protocol alone: what else is printed goes to standard error."""
    sys.stdout.flush()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return output
