"""workspace/didChangeWatchedFiles, and who tells of new captures where the client doesn't.

Three ways, by what there is: the client's file watching, watchdog, and looking at the files now and then.
The last goes on beside the others: neither of them hears of what another machine writes to a shared folder,
which is how captures come from a cluster.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.uris import from_fs_path, to_fs_path

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST
from warplint.project.torch_bounds import FILES
from warplint_server.polling import Poller
from warplint_server.server import WarplintServer

if TYPE_CHECKING:
    from warplint_server.folder_events import FolderEvents

logger = logging.getLogger(__name__)

POLL_S = 2.0
WATCHED = (f"{CAPTURES_DIRECTORY}/*/{MANIFEST}", *FILES)


def files_changed(server: WarplintServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Hear of captures and configurations from the client."""
    for event in params.changes:
        if path := to_fs_path(event.uri):
            server.session.file_changed(Path(path))


class Watch:
    """Watches the captures and the configuration of roots; what it hears goes to the session."""

    def __init__(self, server: WarplintServer) -> None:
        self._server = server
        self._roots: set[Path] = set()
        self._poller = Poller(server.poll_s, self._changed)
        self._folder_events: FolderEvents | None = None

    def add(self, root: Path) -> None:
        """Watch a root from now on; once however often it is asked for."""
        if root in self._roots:
            return
        self._roots.add(root)
        self._poller.add(root)
        if self._client_can("dynamic_registration"):
            relative = self._client_can("relative_pattern_support")
            self._server.client_register_capability(registration(root, relative))
        else:
            self._add_folder_events(root)

    def _changed(self, path: Path) -> None:
        self._server.session.file_changed(path)

    def _client_can(self, capability: str) -> bool:
        path = f"workspace.did_change_watched_files.{capability}"
        return bool(get_capability(self._server.client_capabilities, path, False))

    def _add_folder_events(self, root: Path) -> None:
        try:
            from warplint_server.folder_events import FolderEvents

            self._folder_events = self._folder_events or FolderEvents(self._changed)
            self._folder_events.add(root)
        except (ImportError, OSError) as error:
            # No watchdog, or the system is out of watches: the poller still sees everything, later.
            logger.warning("no file events for %s: %s", root, error)


def registration(root: Path, relative: bool) -> types.RegistrationParams:
    """Ask the client to watch a root.

    ``relative`` patterns reach folders that are not open in the editor; others only those that are.
    """
    options = types.DidChangeWatchedFilesRegistrationOptions(
        [types.FileSystemWatcher(_pattern(root, glob, relative)) for glob in WATCHED]
    )
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    return types.RegistrationParams([types.Registration(f"warplint {root}", method, options)])


def _pattern(root: Path, glob: str, relative: bool) -> types.GlobPattern:
    if relative:
        return types.RelativePattern(from_fs_path(str(root)) or root.as_uri(), glob)
    return f"{root.as_posix()}/{glob}"
