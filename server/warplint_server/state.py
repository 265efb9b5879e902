"""The notification ``warplint/state``: what a client draws that draws costs and score itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from warplint_server.document import Document, Results
from warplint_server.line_costs import line_costs

if TYPE_CHECKING:
    from warplint.advice.score.file_score import Score
    from warplint_server.server import WarplintServer

STATE = "warplint/state"

PAUSE_S = 0.15
"""How long after an edit the state of its text is sent at the earliest: not at every keystroke."""


class States:
    """Sends documents' states: at once, but not while the user is typing."""

    def __init__(self, server: WarplintServer) -> None:
        self._server = server
        self._due: dict[str, asyncio.TimerHandle] = {}
        self._scoring: set[asyncio.Task[None]] = set()

    def send(self, document: Document) -> None:
        """Send a document's state as soon as its last edit is ``PAUSE_S`` old."""
        self.cancel(document)
        loop = asyncio.get_running_loop()
        wait_s = document.edited_s + PAUSE_S - loop.time()
        if wait_s > 0:
            self._due[document.uri] = loop.call_later(wait_s, self._send_now, document)
        else:
            self._send_now(document)

    def clear(self, document: Document) -> None:
        """Say that there is nothing to draw."""
        self.cancel(document)
        self._notify(document, [], None, None)

    def cancel(self, document: Document) -> None:
        """Send nothing that is still due."""
        if due := self._due.pop(document.uri, None):
            due.cancel()

    def _send_now(self, document: Document) -> None:
        self._due.pop(document.uri, None)
        # Results of a newer text are on their way otherwise, and bring their own state.
        if results := document.current():
            task = asyncio.get_running_loop().create_task(self._send_scored(document, results))
            self._scoring.add(task)
            task.add_done_callback(self._scoring.discard)

    async def _send_scored(self, document: Document, results: Results) -> None:
        session = self._server.session
        score = await session.score(document, results)
        if document.current() is results and session.documents.get(document.uri) is document:
            self._notify(document, _costs(document, results), _score(score), _capture(results))

    def _notify(
        self,
        document: Document,
        costs: list[dict[str, Any]] | None,
        score: dict[str, Any] | None,
        capture: dict[str, Any] | None,
    ) -> None:
        state = {
            "uri": document.uri,
            "version": document.version,
            "costs": costs,
            "score": score,
            "capture": capture,
        }
        self._server.protocol.notify(STATE, state)


def _costs(document: Document, results: Results) -> list[dict[str, Any]] | None:
    """None until the newest capture has been looked for: what a client has drawn may still hold."""
    if not results.project.looked_for_captures:
        return None
    return [
        {"line": cost.line - 1, "text": cost.text, "stale": cost.stale, "share": cost.share}
        for cost in line_costs(results.measured, document.settings)
    ]


def _score(score: Score | None) -> dict[str, Any] | None:
    if score is None:
        return None
    parts = [
        {
            "label": part.label,
            "points": part.points,
            "line": None if part.line is None else part.line - 1,
        }
        for part in score.parts
    ]
    return {"value": score.value, "band": score.band.value, "summary": score.summary, "parts": parts}


def _capture(results: Results) -> dict[str, Any] | None:
    profile = results.measured.profile
    if profile is None:
        return None
    totals = profile.totals
    return {"name": profile.name, "device": totals.device, "steps": totals.steps}
