"""What the server knows between messages: open documents, their projects, and results on their way."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lsprotocol import types

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST, LayoutError
from warplint.project.torch_bounds import may_bound
from warplint.source.text import SourceText
from warplint_server.client_features import ClientFeatures
from warplint_server.collector import IdleCollection, collect_all, making_much
from warplint_server.document import LONGEST_PAUSES, Document, Results
from warplint_server.neighbours import Neighbours
from warplint_server.notebook_document import NotebookDocument, NotebookText, PartPositions
from warplint_server.polling import written_ns
from warplint_server.positions import Positions
from warplint_server.preparation import prepare
from warplint_server.settings import FolderSettings, Settings
from warplint_server.worker import Worker
from warplint_server.workspace import Project, Workspace

if TYPE_CHECKING:
    from warplint.advice.score.file_score import Score
    from warplint.project.engine import Checked

logger = logging.getLogger(__name__)

SETTINGS_PATIENCE_S = 5.0
"""How long the first documents wait for the client's settings before they are checked with the defaults."""


class Audience(Protocol):
    """Who hears of what a session finds out; called on the event loop's thread."""

    def publish(self, document: Document, results: Results) -> None:
        """There are new results of the document's present text."""

    def redraw(self, document: Document) -> None:
        """What is to be drawn of a document's results has changed."""

    def withdraw(self, document: Document) -> None:
        """Nothing is to be said of this open document any more."""

    def closed(self, document: Document) -> None:
        """The document is no longer open."""

    def closed_part(self, uri: str) -> None:
        """A cell of a notebook is no more."""

    def refresh(self) -> None:
        """What was said of documents has changed without an edit."""

    def watch(self, project: Project) -> None:
        """A project was opened: its captures and its configuration want watching."""

    def warn(self, message: str) -> None:
        """Something that the user has to know."""

    def log(self, message: str) -> None:
        """Something for whoever wonders why."""


class Session:
    """Open documents, and the one analysis that each may have in flight.

    Belongs to the event loop's thread. The engine runs on a worker thread, so that a newer text is heard
    of while an older one is being looked at: results of the older are kept to start from, and never
    published. Captures are opened on a second worker, since joining one takes seconds.
    """

    def __init__(
        self, audience: Audience, positions: Positions, folders: Sequence[Path], features: ClientFeatures
    ) -> None:
        """For a client with settings, no document is looked at before ``configure`` or a while has passed."""
        self.positions = positions
        self.documents: dict[str, Document] = {}
        self._notebooks: dict[str, NotebookDocument] = {}
        self.engine_worker = Worker("warplint-engine")
        self._capture_worker = Worker("warplint-captures")
        self._neighbours = Neighbours(self.documents, self.engine_worker, self._look_again)
        self._audience = audience
        self._features = features
        self._loop = asyncio.get_running_loop()
        self._looks: dict[Path, asyncio.Task[None]] = {}
        self._unseen: set[Path] = set()
        self._reloaded: dict[Path, int | None] = {}
        self._numbers = itertools.count()
        self._collection = IdleCollection(lambda: self.engine_worker.call(collect_all))
        self._settings = FolderSettings()
        self._configured = asyncio.Event()
        if features.has_configuration:
            self._loop.call_later(SETTINGS_PATIENCE_S, self._configured.set)
        else:
            self._configured.set()
        self.workspace = Workspace(
            folders,
            opened=lambda project: self._soon(self._opened, project),
            warn=lambda message: self._soon(audience.warn, message),
            log=lambda message: self._soon(audience.log, message),
            trusted=features.trusts_folders,
        )
        self.engine_worker.call(prepare, features.draws)

    def open(self, uri: str, path: Path, version: int, text: str) -> None:
        self.close(uri)
        document = self.documents[uri] = Document(uri, path, version, text, self._settings.of(path))
        self._analyse(document)
        self._neighbours.edited(document)

    def change(self, uri: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        if document := self.documents.get(uri):
            document.change(changes, version, self.positions)
            document.edited_s = self._loop.time()
            if document.settings.enabled:
                self._analyse(document)
            self._neighbours.edited(document)

    def open_notebook(
        self, uri: str, path: Path, version: int, cells: Sequence[types.TextDocumentItem]
    ) -> None:
        self.close(uri)
        document = NotebookDocument(uri, path, version, cells, self._settings.of(path))
        self.documents[uri] = document
        self._notebooks.update({cell: document for cell, _ in document.parts})
        self._analyse(document)

    def change_cells(self, uri: str, version: int, changes: types.NotebookDocumentCellChanges) -> None:
        document = self.documents.get(uri)
        if not isinstance(document, NotebookDocument):
            return
        for cell in document.change_cells(version, changes, self.positions):
            self._notebooks.pop(cell, None)
            self._audience.closed_part(cell)
        self._notebooks.update({cell: document for cell, _ in document.parts})
        document.edited_s = self._loop.time()
        if document.settings.enabled:
            self._analyse(document)

    def document(self, uri: str) -> Document | None:
        """The open document of a URI, which may be that of a notebook's cell."""
        return self.documents.get(uri) or self._notebooks.get(uri)

    def positions_in(self, uri: str, source: SourceText) -> Positions:
        """How places of a text count in the document of a URI."""
        part = source.parts.get(uri) if isinstance(source, NotebookText) else None
        return self.positions if part is None else PartPositions(self.positions, part)

    def close(self, uri: str) -> None:
        """Forget a document, if it is one of ours."""
        if document := self.documents.pop(uri, None):
            if document.analysis is not None:
                document.analysis.cancel()
            for part, _ in document.parts:
                self._notebooks.pop(part, None)
            self._audience.closed(document)
            self._neighbours.closed(document)
            self._collection.gone()

    def configure(self, settings: FolderSettings) -> None:
        """Take over the client's settings, and show what they change."""
        self._settings = settings
        aimed = self.workspace.aim(lambda root: settings.of(root).interpreter)
        changed = [it for it in self.documents.values() if it.settings != settings.of(it.path)]
        for document in changed:
            self._apply(document, settings.of(document.path))
        for project in aimed:
            self._renew(project)
        if changed and self._configured.is_set():
            self._audience.refresh()
        self._configured.set()

    def keep_settings(self) -> None:
        """Go on with the settings there are."""
        self._configured.set()

    def _apply(self, document: Document, settings: Settings) -> None:
        before, document.settings = document.settings, settings
        if before.enabled == settings.enabled:
            self._audience.redraw(document)
        elif settings.enabled:
            self._analyse(document)
        else:
            if document.analysis is not None:
                document.analysis.cancel()
            document.results = None
            self._audience.withdraw(document)

    def folders_to_check(self) -> tuple[tuple[Path, Path | None], ...]:
        """The folders whose closed files are checked too, each with the interpreter of its programs."""
        settings = [(folder, self._settings.of(folder)) for folder in self.workspace.folders]
        return tuple((folder, held.interpreter) for folder, held in settings if held.enabled)

    def log(self, message: str) -> None:
        """Tell whoever wonders why."""
        self._audience.log(message)

    async def score(self, document: Document, results: Results) -> Score | None:
        """The score of a document's results, found when first asked for: findings do not wait for it."""
        if document.scored is None or document.scored[0] is not results:
            document.scored = results, await self.engine_worker.call(_score, results)
        return document.scored[1]

    async def settled(self, uri: str) -> tuple[Document, Results] | None:
        """The document with results of its present text, once there are; None when there won't be any."""
        while document := self.document(uri):
            if (results := document.current()) is not None:
                return document, results
            if document.analysis is None or document.analysis.done():
                return None
            await asyncio.wait({document.analysis})
        return None

    def file_changed(self, path: Path) -> None:
        """A file was written, made or taken away; from any thread, and any file."""
        if path.name == MANIFEST and path.parent.parent.name == CAPTURES_DIRECTORY:
            self._soon(self._look, path.parent.parent.parent)
        elif may_bound(path.name):
            self._soon(self._reload, path)

    def _soon(self, function: Callable[..., object], *arguments: object) -> None:
        # The loop is closed once the client has left, while threads may still be at work.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)

    def _opened(self, project: Project) -> None:
        self._audience.watch(project)
        self._look(project.root)

    def _look(self, root: Path) -> None:
        """Open the newest capture unless that is being done; what comes meanwhile is looked at afterwards."""
        self._unseen.add(root)
        if root not in self._looks:
            self._looks[root] = self._loop.create_task(self._take_captures(root))

    async def _take_captures(self, root: Path) -> None:
        try:
            while root in self._unseen and (project := self.workspace.opened_at(root)):
                self._unseen.discard(root)
                await self._take_newest(project)
        finally:
            self._looks.pop(root, None)

    async def _take_newest(self, project: Project) -> None:
        try:
            profile = await self._capture_worker.call(project.engine.newest_profile)
        except LayoutError as error:
            self._audience.log(str(error))
        except Exception:
            logger.exception("the newest capture of %s could not be opened", project.root)
        else:
            for problem in project.engine.captures_passed_over():
                self._audience.log(str(problem))
            if project.take(profile):
                project.looked_for_captures = True
                self._renew(project)
        if not project.looked_for_captures:
            project.looked_for_captures = True
            self._redraw(project)

    def _reload(self, path: Path) -> None:
        """Read configurations anew that may rest on this file; once, though several tell of a change."""
        written = written_ns(path)
        if path in self._reloaded and self._reloaded[path] == written:
            return
        self._reloaded[path] = written
        for project in self.workspace.close(path.parent):
            self._renew(project)

    def _renew(self, project: Project) -> None:
        """Make the results of a project's documents again."""
        for document in self.documents.values():
            concerned = document.results is None or document.results.project is project
            if concerned and document.settings.enabled:
                self._analyse(document)
        self._audience.refresh()

    def _redraw(self, project: Project) -> None:
        for document in self.documents.values():
            if document.results is not None and document.results.project is project:
                self._audience.redraw(document)

    def _look_again(self, documents: Sequence[Document]) -> None:
        """Look again at documents whose imports say something else now."""
        for document in documents:
            document.is_outdated = True
            if document.settings.enabled:
                self._analyse(document)
        self._audience.refresh()

    def _analyse(self, document: Document) -> None:
        if document.analysis is None or document.analysis.done():
            document.analysis = self._loop.create_task(self._bring_up_to_date(document))

    async def _bring_up_to_date(self, document: Document) -> None:
        """Look at the document's text until what was looked at is its newest."""
        await self._configured.wait()
        if not document.settings.enabled:
            self._audience.withdraw(document)
            return
        while document.current() is None:
            await self._pause_in_typing(document)
            source = document.source
            document.is_outdated = False
            try:
                results = await self.engine_worker.call(self._results, source, document.results)
            except Exception:
                logger.exception("%s could not be checked", document.path)
                if document.source is source:
                    return
                continue
            self._collection.looked(much_is_new=document.results is None)
            document.results = results
            document.looks_s = document.looks_s[1], results.took_s
            if results.hold_for(document.source):
                self._audience.publish(document, results)

    async def _pause_in_typing(self, document: Document) -> None:
        """Wait until a large document is not being typed in, but not for ever."""
        at_last_s = self._loop.time() + LONGEST_PAUSES * document.pause_s
        while (wait_s := min(document.edited_s + document.pause_s, at_last_s) - self._loop.time()) > 0:
            await asyncio.sleep(wait_s)

    def _results(self, source: SourceText, previous: Results | None) -> Results:
        project = self.workspace.project(source.path)
        generation = project.generation
        begin_s = time.thread_time()
        known = previous.checked if previous is not None and previous.project is project else None
        if known is None:
            with making_much():
                checked = project.check(source, None)
        else:
            checked = project.check(source, known)
        if isinstance(source, NotebookText):
            checked = _with_faults(checked, source)
        measured = project.measured(source)
        joined = project.joined(checked, measured)
        took_s = time.thread_time() - begin_s if known is not None else 0.0
        return Results(next(self._numbers), source, project, generation, checked, measured, took_s, joined)


def _score(results: Results) -> Score | None:
    """The score of a document's results; findings and costs are shown even if it fails."""
    # Imported with the first document: ``initialize`` is not kept waiting.
    from warplint.advice.score.file_score import score

    try:
        return score(results.checked, [told for _, told in results.told])
    except Exception:
        logger.exception("%s could not be scored", results.source.path)
        return None


def _with_faults(checked: Checked, source: NotebookText) -> Checked:
    """What was found, with a finding for each cell that cannot be parsed."""
    from warplint.project.builtin import UNPARSABLE
    from warplint.source.records import replace
    from warplint.static.finding import Finding

    faults = [
        Finding(UNPARSABLE.code, UNPARSABLE.name, message, span, severity=UNPARSABLE.severity)
        for span, message in source.faults
    ]
    return replace(checked, findings=(*checked.findings, *faults))
