"""workspace/diagnostic: the findings of all files, in the background and as they come.

Open documents are told of as the editor has them. All others are checked by a process of their own, so that
typing does not wait. A client that knows all there is gets its answer when there is something new: those that
show problems of whole folders ask again as soon as they are answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import from_fs_path, to_fs_path

from warplint_server.closed_files import Answer, Problem, Request
from warplint_server.diagnostics import diagnostics, diagnostics_of_file
from warplint_server.server import WarplintServer

if TYPE_CHECKING:
    from warplint.static.rules.rule import Rule

Report = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport

LOOK_AGAIN_S = 5.0
"""How often files are looked at while a client waits for news."""
TOGETHER = 50
"""So many reports at most are sent in one message while more are on their way."""


async def workspace_pull(
    server: WarplintServer, params: types.WorkspaceDiagnosticParams
) -> types.WorkspaceDiagnosticReport:
    """Answer for every file, or with what is new; parts of the answer are sent ahead if the client can."""
    known = {it.uri: it.value for it in params.previous_result_ids}
    while True:
        reports = _Reports(server, params.partial_result_token)
        try:
            async for report in _reports(server, known):
                reports.add(report)
        except (OSError, asyncio.IncompleteReadError) as error:
            reason = f"the process that checks closed files has ended: {error}"
            raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed) from None
        if reports.any_new or not known:
            return types.WorkspaceDiagnosticReport(reports.rest())
        await asyncio.sleep(LOOK_AGAIN_S)


class _Reports:
    """Gathers reports, and sends them ahead where there is a token to send them under."""

    def __init__(self, server: WarplintServer, token: types.ProgressToken | None) -> None:
        self._server = server
        self._token = token
        self._waiting: list[Report] = []
        self.any_new = False

    def add(self, report: Report) -> None:
        self.any_new = self.any_new or isinstance(report, types.WorkspaceFullDocumentDiagnosticReport)
        self._waiting.append(report)
        if self._token is not None and self.any_new and len(self._waiting) >= TOGETHER:
            part = types.WorkspaceDiagnosticReportPartialResult(self.rest())
            self._server.protocol.notify(types.PROGRESS, types.ProgressParams(self._token, part))

    def rest(self) -> list[Report]:
        rest, self._waiting = self._waiting, []
        return rest


async def _reports(server: WarplintServer, known: dict[str, str]) -> AsyncIterator[Report]:
    """What there is to say of open documents, of other files, and of those that are gone."""
    paths = {Path(path): uri for uri in known if (path := to_fs_path(uri))}
    open_paths: set[Path] = set()
    for document in list(server.session.documents.values()):
        open_paths.add(document.path)
        for uri, _ in document.parts:
            if (report := await _of_open(server, uri, known)) is not None:
                yield report
    said = set(open_paths)
    rules = await server.session.engine_worker.call(_rules)
    ids = {path: known[uri] for path, uri in paths.items()}
    request = Request(server.session.folders_to_check(), ids, server.client_features.trusts_folders)
    async for answer in server.closed_files.ask(request):
        if isinstance(answer, Problem):
            server.session.log(answer.message)
        elif answer.path not in said:
            said.add(answer.path)
            yield _of_closed(server, answer, paths.get(answer.path), rules)
    for gone in paths.keys() - said:
        yield types.WorkspaceFullDocumentDiagnosticReport(paths[gone], [])


async def _of_open(server: WarplintServer, uri: str, known: dict[str, str]) -> Report | None:
    settled = await server.session.settled(uri)
    if settled is None:
        return None
    document, results = settled
    version = dict(document.parts).get(uri)
    identifier = str(results.number)
    if known.get(uri) == identifier:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri, identifier, version=version)
    items = diagnostics(server, uri, results)
    return types.WorkspaceFullDocumentDiagnosticReport(uri, items, version=version, result_id=identifier)


def _of_closed(server: WarplintServer, answer: Answer, uri: str | None, rules: dict[str, Rule]) -> Report:
    uri = uri or from_fs_path(str(answer.path)) or answer.path.as_uri()
    if answer.result is None:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri, answer.id)
    items = diagnostics_of_file(server, uri, answer.result, rules)
    return types.WorkspaceFullDocumentDiagnosticReport(uri, items, result_id=answer.id)


def _rules() -> dict[str, Rule]:
    # Imported here because loading all rules is no part of starting.
    from warplint.project.engine import all_rules

    return {rule.code: rule for rule in all_rules()}
