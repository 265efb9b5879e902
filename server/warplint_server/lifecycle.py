"""initialize, initialized, workspace/didChangeWorkspaceFolders and shutdown."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from threading import Thread

from lsprotocol import types
from pygls.uris import to_fs_path

from warplint import __version__
from warplint_server import fixing
from warplint_server.client import Client
from warplint_server.client_features import ClientFeatures
from warplint_server.collector import settle
from warplint_server.inlay_hint import inlay_hint
from warplint_server.parent import leave_with
from warplint_server.positions import Positions
from warplint_server.pull import pull
from warplint_server.server import WarplintServer
from warplint_server.session import Session
from warplint_server.workspace_pull import workspace_pull

SETTLE_IN_S = 1.0


def initialize(server: WarplintServer, params: types.InitializeParams) -> None:
    """Begin the session. pygls answers, from the features that are registered when this returns."""
    features = server.client_features = ClientFeatures.of(params)
    if features.pulls:
        options = types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=features.wants_all_files
        )
        server.answer(types.TEXT_DOCUMENT_DIAGNOSTIC, pull, options)
        if features.wants_all_files:
            server.answer(types.WORKSPACE_DIAGNOSTIC, workspace_pull)
    if not features.draws:
        server.answer(types.TEXT_DOCUMENT_INLAY_HINT, inlay_hint)
    encoding = types.PositionEncodingKind(server.workspace.position_encoding or "utf-16").value
    server.session = Session(Client(server), Positions(encoding), _folders(params), features)
    leave_with(params.process_id)


async def initialized(server: WarplintServer, params: types.InitializedParams) -> None:
    running = f"Warplint {__version__} on Python {sys.version.partition(' ')[0]}, {sys.executable}"
    server.window_log_message(types.LogMessageParams(types.MessageType.Info, running))
    # The first documents come now, and their findings before anything else.
    asyncio.get_running_loop().call_later(
        SETTLE_IN_S, Thread(target=_settle_in, name="warplint-settle-in", daemon=True).start
    )
    await server.configuration.follow()


async def folders_changed(server: WarplintServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    server.session.workspace.change_folders(
        _paths(folder.uri for folder in params.event.added),
        _paths(folder.uri for folder in params.event.removed),
    )
    await server.configuration.ask()


def shutdown(server: WarplintServer, params: None) -> None:
    server.closed_files.stop()
    server.shut_down = True


def _folders(params: types.InitializeParams) -> list[Path]:
    if params.workspace_folders:
        return _paths(folder.uri for folder in params.workspace_folders)
    if params.root_uri:
        return _paths([params.root_uri])
    return [Path(params.root_path)] if params.root_path else []


def _paths(uris: Iterable[str]) -> list[Path]:
    return [Path(path) for uri in uris if (path := to_fs_path(uri))]


def _settle_in() -> None:
    """Import what only fixes need."""
    if fixing.missing() is None:
        importlib.import_module("libcst")
    settle()
