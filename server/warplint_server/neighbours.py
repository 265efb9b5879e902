"""Open documents and the files that they import: when one of those changes, they are looked at again.

What others have to go by is an open document's text once its typing pauses, and the file of any other. Typing
itself is kept out of this: what is typed in is looked at with what was last known of the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplint_server.document import Document
from warplint_server.worker import Worker

if TYPE_CHECKING:
    from warplint_server.workspace import Project

PAUSE_S = 0.5
"""How long after an edit others are looked at that import the document."""
LOOK_S = 2.0
"""How often files that open documents import are looked at for changes."""


class Neighbours:
    """Tells which documents rest on a file that has changed. Belongs to the event loop's thread."""

    def __init__(
        self,
        documents: Mapping[str, Document],
        worker: Worker,
        outdated: Callable[[Sequence[Document]], None],
    ) -> None:
        """``outdated`` is called with documents whose results no longer hold."""
        self._documents = documents
        self._worker = worker
        self._outdated = outdated
        self._loop = asyncio.get_running_loop()
        self._due: dict[Path, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop.call_later(LOOK_S, self._look)

    def edited(self, document: Document) -> None:
        """A document has another text, or was opened: tell others of it when typing pauses."""
        self._cancel(document.path)
        self._due[document.path] = self._loop.call_later(PAUSE_S, self._offer, document)

    def closed(self, document: Document) -> None:
        """A document's file counts again."""
        self._cancel(document.path)
        if document.results is not None:
            self._start(self._take(document.results.project, document.path, None))

    def _cancel(self, path: Path) -> None:
        if due := self._due.pop(path, None):
            due.cancel()

    def _offer(self, document: Document) -> None:
        self._due.pop(document.path, None)
        if document.results is not None:
            self._start(self._take(document.results.project, document.path, document.source.text))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take(self, project: Project, path: Path, text: str | None) -> None:
        if await self._worker.call(project.engine.edit, path, text):
            self._tell(project, frozenset({path}))

    def _look(self) -> None:
        self._start(self._take_changes())

    async def _take_changes(self) -> None:
        try:
            for project in {it.results.project for it in self._documents.values() if it.results is not None}:
                if changed := await self._worker.call(project.engine.refresh):
                    self._tell(project, changed)
        finally:
            self._loop.call_later(LOOK_S, self._look)

    def _tell(self, project: Project, changed: frozenset[Path]) -> None:
        outdated = [
            document
            for document in self._documents.values()
            if document.results is not None
            and document.results.project is project
            and not changed.isdisjoint(document.results.checked.analysis.reads)
        ]
        if outdated:
            self._outdated(outdated)
