"""A client of a real server process, as an editor is one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client

PATIENCE_S = 30.0
SERVER = (sys.executable, "-m", "warplint", "server", "--stdio")
SLOW_POLLING_SERVER = (
    sys.executable,
    "-c",
    "import sys; from warplint_server.main import serve; sys.exit(serve(poll_s=3600))",
)


class Editor:
    """What a server has told its client, and the ways to talk back."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.published: list[types.PublishDiagnosticsParams] = []
        self.registrations: list[types.Registration] = []
        self.states: list[Any] = []
        self.refreshes = 0
        self.lens_refreshes = 0
        self.hint_refreshes = 0
        self.capabilities = types.ServerCapabilities()
        self._news = asyncio.Condition()
        self._on(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, self.published.append)
        self._on(types.CLIENT_REGISTER_CAPABILITY, lambda it: self.registrations.extend(it.registrations))
        self._on(types.WORKSPACE_DIAGNOSTIC_REFRESH, self._refresh)
        self._on(types.WORKSPACE_CODE_LENS_REFRESH, self._refresh_lenses)
        self._on(types.WORKSPACE_INLAY_HINT_REFRESH, self._refresh_hints)
        self._on("warplint/state", self.states.append)
        self._on(types.WINDOW_LOG_MESSAGE, client.log_messages.append)

    @property
    def process(self) -> asyncio.subprocess.Process:
        process = self.client._server
        assert process is not None
        return process

    def _on(self, method: str, hear: Callable[[Any], None]) -> None:
        async def handler(params: Any) -> None:
            hear(params)
            async with self._news:
                self._news.notify_all()

        self.client.protocol.fm.features[method] = handler

    def _refresh(self, _: None) -> None:
        self.refreshes += 1

    def _refresh_lenses(self, _: None) -> None:
        self.lens_refreshes += 1

    def _refresh_hints(self, _: None) -> None:
        self.hint_refreshes += 1

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what the server tells to make a condition true."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(condition), PATIENCE_S)

    def open(self, path: Path, text: str | None = None, *, uri: str = "", language: str = "python") -> str:
        """Open a document, with its text on disk unless told otherwise; its URI."""
        uri = uri or path.as_uri()
        text = path.read_text(encoding="utf-8") if text is None else text
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, version: int, text: str, where: types.Range | None = None) -> None:
        """Replace a range of the document, or the whole of it."""
        change: types.TextDocumentContentChangeEvent = (
            types.TextDocumentContentChangeWholeDocument(text)
            if where is None
            else types.TextDocumentContentChangePartial(where, text)
        )
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        )

    def configure(self, settings: dict[str, Any], folder: Path | None = None) -> None:
        """Change the settings of a folder, or those that hold elsewhere, and say so."""
        self.client.set_configuration({"warplint": settings}, scope_uri=folder and folder.as_uri())
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))

    def of(self, uri: str) -> list[types.PublishDiagnosticsParams]:
        """Everything published for a document so far."""
        return [published for published in self.published if published.uri == uri]

    def shown(self, uri: str) -> Sequence[types.Diagnostic]:
        """What a document shows now."""
        published = self.of(uri)
        return published[-1].diagnostics if published else ()

    async def diagnostics(self, uri: str, version: int | None = 1) -> Sequence[types.Diagnostic]:
        """What is published for a version of a document, once it is."""

        def found() -> types.PublishDiagnosticsParams | None:
            return next((it for it in reversed(self.of(uri)) if it.version == version), None)

        await self.until(found)
        published = found()
        assert published is not None
        return published.diagnostics

    def drawn(self, uri: str) -> Any:
        """The last ``warplint/state`` of a document; None before the first."""
        return next((it for it in reversed(self.states) if it.uri == uri), None)

    async def hover(self, uri: str, line: int, character: int) -> str | None:
        """The text of a hover at a place, both from 0."""
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        answer = await self.client.text_document_hover_async(params)
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    async def actions(
        self, uri: str, where: types.Range, only: Sequence[str] | None = None
    ) -> list[types.CodeAction]:
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), where, types.CodeActionContext([], only=only)
        )
        answer = await self.client.text_document_code_action_async(params) or []
        return [action for action in answer if isinstance(action, types.CodeAction)]

    async def lenses(self, uri: str) -> list[tuple[int, str]]:
        """The code lenses of a document: line from 0, and text."""
        params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        answer = await self.client.text_document_code_lens_async(params) or []
        return [(lens.range.start.line, lens.command.title) for lens in answer if lens.command]

    async def hints(self, uri: str, where: types.Range) -> list[types.InlayHint]:
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), where)
        return list(await self.client.text_document_inlay_hint_async(params) or [])


def client_capabilities(
    *,
    pulls: bool = False,
    refreshes: bool = True,
    configures: bool = False,
    refreshes_costs: bool = False,
    shows_disabled: bool = False,
    resolves: bool = False,
    watches: bool = False,
    encodings: Sequence[types.PositionEncodingKind] = (),
    formats: Sequence[types.MarkupKind] = (types.MarkupKind.Markdown,),
) -> types.ClientCapabilities:
    """A client that can do what is named and little else."""
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=encodings or None),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
            diagnostic=types.DiagnosticClientCapabilities() if pulls else None,
            hover=types.HoverClientCapabilities(content_format=formats),
            code_action=types.CodeActionClientCapabilities(
                disabled_support=shows_disabled,
                resolve_support=types.ClientCodeActionResolveOptions(["edit"]) if resolves else None,
            ),
        ),
        workspace=types.WorkspaceClientCapabilities(
            configuration=configures,
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=refreshes_costs),
            inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=refreshes_costs),
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=refreshes),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                dynamic_registration=watches, relative_pattern_support=True
            ),
        ),
    )


@asynccontextmanager
async def editor(
    *folders: Path,
    capabilities: types.ClientCapabilities | None = None,
    command: Sequence[str] = SERVER,
    settings: Mapping[Path | None, dict[str, Any]] | None = None,
    options: dict[str, Any] | None = None,
) -> AsyncIterator[Editor]:
    """Start a server for some folders, and take leave of it in good order.

    ``settings`` are by folder, with None for everywhere else; ``options`` are what the client says of itself.
    """
    client = make_test_lsp_client()
    session = Editor(client)
    for folder, values in (settings or {}).items():
        client.set_configuration({"warplint": values}, scope_uri=folder and folder.as_uri())
    await client.start_io(*command)
    result = await asyncio.wait_for(
        client.initialize_session(
            types.InitializeParams(
                capabilities=capabilities or client_capabilities(configures=settings is not None),
                initialization_options={"warplint": options} if options else None,
                workspace_folders=[types.WorkspaceFolder(it.as_uri(), it.name) for it in folders],
            )
        ),
        PATIENCE_S,
    )
    session.capabilities = result.capabilities
    try:
        yield session
    finally:
        if session.process.returncode is None:
            await asyncio.wait_for(client.shutdown_session(), PATIENCE_S)
        await client.stop()


def span(line: int, start: int, end: int) -> types.Range:
    """A range on one line, all from 0."""
    return types.Range(types.Position(line, start), types.Position(line, end))


def applied(text: str, edit: types.WorkspaceEdit | None, uri: str) -> str:
    """A text with a workspace edit made, as an editor that counts in UTF-16 makes it."""
    assert edit is not None
    changes = list((edit.changes or {}).get(uri, []))
    for document in edit.document_changes or []:
        assert isinstance(document, types.TextDocumentEdit)
        assert document.text_document.uri == uri
        changes += [it for it in document.edits if isinstance(it, types.TextEdit)]
    units = text.encode("utf-16-le")
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len((line + "\n").encode("utf-16-le")))

    def place(position: types.Position) -> int:
        return starts[position.line] + 2 * position.character

    for change in sorted(changes, key=lambda it: place(it.range.start), reverse=True):
        new = change.new_text.encode("utf-16-le")
        units = units[: place(change.range.start)] + new + units[place(change.range.end) :]
    return units.decode("utf-16-le")
