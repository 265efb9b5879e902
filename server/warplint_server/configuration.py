"""workspace/configuration and workspace/didChangeConfiguration: the client's settings, folder by folder."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

from warplint_server.settings import SECTION, FolderSettings, Settings, read_settings

if TYPE_CHECKING:
    from warplint_server.server import WarplintServer


async def configuration_changed(server: WarplintServer, params: types.DidChangeConfigurationParams) -> None:
    await server.configuration.ask()


class Configuration:
    """Asks one client for its settings and passes them on to the session."""

    def __init__(self, server: WarplintServer) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self._newest = 0
        self._refused: list[str] = []

    async def follow(self) -> None:
        """Ask for the settings, and to be told when they change."""
        if self._server.client_features.registers_configuration:
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            options = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
            registration = types.Registration("warplint settings", method, options)
            self._server.client_register_capability(types.RegistrationParams([registration]))
        await self.ask()

    async def ask(self) -> None:
        """Bring every folder's settings up to date; without an answer they stay as they are."""
        if not self._server.client_features.has_configuration:
            return
        self._newest = number = next(self._numbers)
        uris = [folder.uri for folder in self._server.workspace.folders.values()]
        items = [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in [None, *uris]]
        try:
            answers = await self._server.workspace_configuration_async(types.ConfigurationParams(items))
        except JsonRpcException as error:
            self._server.session.log(f"the editor did not give its settings, which stay as they are: {error}")
            self._server.session.keep_settings()
            return
        if number == self._newest:
            self._take(uris, list(answers or ()))

    def _take(self, uris: list[str], answers: list[object]) -> None:
        """Read what was answered for everywhere else, and for each folder; a missing answer sets nothing."""
        answers += [None] * (1 + len(uris) - len(answers))
        read = [read_settings(answer) for answer in answers]
        self._say([sentence for _, sentences in read for sentence in sentences])
        elsewhere, *of_folders = [settings for settings, _ in read]
        folders: dict[Path, Settings] = {}
        for uri, settings in zip(uris, of_folders, strict=False):
            if path := to_fs_path(uri):
                folders[Path(path)] = settings
        self._server.session.configure(FolderSettings(elsewhere, folders))

    def _say(self, refused: list[str]) -> None:
        """Log what cannot be used, once: the same user setting is refused in every folder."""
        for sentence in dict.fromkeys(refused):
            if sentence not in self._refused:
                self._server.session.log(sentence)
        self._refused = refused
