"""A capture confirms, refutes and adds to what is published, through the real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_captures import write_capture, write_recorded
from lsp_editor import editor
from lsprotocol import types

from warplint.profile.model import IdleCause, LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

TRAIN = """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
READ_LINE = 9
Severity = types.DiagnosticSeverity


async def test_the_recorded_program_is_ordered_by_cost(project: Path) -> None:
    program = write_recorded(project)
    async with editor(project) as session:
        uri = session.open(program)
        await session.until(lambda: any(it.code == "WL055" for it in session.shown(uri)))
        found = {(it.code, it.severity) for it in session.shown(uri)}
        loader = next(it for it in session.shown(uri) if it.code == "WL301")
        loading = next(it for it in session.shown(uri) if it.code == "WL055")
        params = types.HoverParams(types.TextDocumentIdentifier(uri), loading.range.start)
        hover = await session.client.text_document_hover_async(params)
    assert {("WL301", Severity.Error), ("WL055", Severity.Error), ("WL052", Severity.Warning)} <= found
    assert ("WL201", Severity.Information) in found
    assert loader.message.startswith("Costs 24.1 ms of a 59.3 ms step: the GPU has no batch to work on. ")
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert "Costs 20.1 ms of a 59.3 ms step" in hover.contents.value


async def test_a_new_capture_turns_a_refuted_finding_into_a_hint(project: Path) -> None:
    path = project / "train.py"
    path.write_text(TRAIN)
    async with editor(project) as session:
        uri = session.open(path)
        (before,) = await session.diagnostics(uri)
        write_capture(project, "20260101T000000Z-a", "train.py", [LineCost("", READ_LINE, cpu_us=1e4)])
        await session.until(lambda: session.shown(uri)[0].severity is Severity.Hint)
        (refuted,) = session.shown(uri)
        waiting = LineCost("", READ_LINE, cpu_us=1e4, waits=80, idle_us={IdleCause.SYNC: 310_000})
        write_capture(project, "20260102T000000Z-b", "train.py", [waiting])
        await session.until(lambda: session.shown(uri)[0].severity is Severity.Error)
        (confirmed,) = session.shown(uri)
    assert (before.code, before.severity) == ("WL201", Severity.Warning)
    assert "and it waits for nothing." in refuted.message
    assert confirmed.message.startswith("Costs 31.0 ms of a 100 ms step: 8 waits. ")
