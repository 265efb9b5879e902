"""All files of a workspace, on request: those that are not open are checked in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsp_captures import write_capture
from lsp_editor import PATIENCE_S, Editor, client_capabilities, editor
from lsp_samples import ROTARY, ROTARY_FIXED, ROTARY_RANGE
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from warplint.profile.model import IdleCause, LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

Report = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport


@pytest_asyncio.fixture(loop_scope="session")
async def pulling(project: Path) -> AsyncIterator[Editor]:
    async with editor(project, capabilities=client_capabilities(pulls=True)) as session:
        yield session


async def pulled(
    session: Editor, before: dict[str, Report] | None = None, token: str | None = None
) -> dict[str, Report]:
    """A report for each document, by its URI; asked for with the ids of earlier ones."""
    known = [
        types.PreviousResultId(uri, report.result_id)
        for uri, report in (before or {}).items()
        if report.result_id is not None
    ]
    params = types.WorkspaceDiagnosticParams(known, partial_result_token=token)
    answer = await asyncio.wait_for(session.client.workspace_diagnostic_async(params), PATIENCE_S)
    assert len({it.uri for it in answer.items}) == len(answer.items)
    return {it.uri: it for it in answer.items}


def full(report: Report) -> types.WorkspaceFullDocumentDiagnosticReport:
    assert isinstance(report, types.WorkspaceFullDocumentDiagnosticReport)
    return report


def fill(project: Path, **texts: str) -> dict[str, str]:
    for name, text in texts.items():
        (project / f"{name}.py").write_text(text)
    return {name: (project / f"{name}.py").as_uri() for name in texts}


async def test_files_that_are_not_open_are_reported_without_a_version(project: Path, pulling: Editor) -> None:
    uris = fill(project, dirty=ROTARY, clean=ROTARY_FIXED)
    (project / "build").mkdir()
    (project / "build" / "made.py").write_text(ROTARY)
    reports = await pulled(pulling)
    assert reports.keys() == set(uris.values())
    (found,) = full(reports[uris["dirty"]]).items
    assert (found.code, found.range, reports[uris["dirty"]].version) == ("WL101", ROTARY_RANGE, None)
    assert not full(reports[uris["clean"]]).items


async def test_an_open_document_is_reported_as_the_editor_has_it(project: Path, pulling: Editor) -> None:
    uris = fill(project, model=ROTARY)
    pulling.open(project / "model.py", ROTARY_FIXED)
    pulling.change(uris["model"], 7, "\n" + ROTARY)
    report = full((await pulled(pulling))[uris["model"]])
    assert report.version == 7
    assert report.items[0].range.start.line == ROTARY_RANGE.start.line + 1
    # The same id as of a pull of that document alone.
    params = types.DocumentDiagnosticParams(
        types.TextDocumentIdentifier(uris["model"]), previous_result_id=report.result_id
    )
    answer = await pulling.client.text_document_diagnostic_async(params)
    assert isinstance(answer, types.RelatedUnchangedDocumentDiagnosticReport)


async def test_only_what_is_new_is_sent_again(project: Path, pulling: Editor) -> None:
    uris = fill(project, one=ROTARY, two=ROTARY_FIXED, three=ROTARY)
    before = await pulled(pulling)
    fill(project, two=ROTARY)
    (project / "three.py").unlink()
    after = await pulled(pulling, before)
    assert isinstance(after[uris["one"]], types.WorkspaceUnchangedDocumentDiagnosticReport)
    assert after[uris["one"]].result_id == before[uris["one"]].result_id
    assert len(full(after[uris["two"]]).items) == 1
    assert not full(after[uris["three"]]).items


async def test_a_client_that_knows_all_is_answered_when_there_is_something_new(
    project: Path, pulling: Editor
) -> None:
    uris = fill(project, model=ROTARY_FIXED)
    before = await pulled(pulling)
    waiting = asyncio.ensure_future(pulled(pulling, before))
    await asyncio.sleep(1)
    assert not waiting.done()
    fill(project, model=ROTARY)
    assert len(full((await waiting)[uris["model"]]).items) == 1


async def test_parts_of_the_answer_come_ahead(project: Path, pulling: Editor) -> None:
    uris = fill(project, **{f"model_{number}": ROTARY for number in range(70)})
    parts: list[Any] = []
    pulling._on(types.PROGRESS, parts.append)
    rest = await pulled(pulling, token="parts")
    ahead = [item["uri"] for part in parts for item in part.value["items"]]
    assert ahead and rest
    assert sorted([*ahead, *rest]) == sorted(uris.values())


async def test_a_request_that_is_cancelled_ends_and_the_next_is_answered(
    project: Path, pulling: Editor
) -> None:
    fill(project, model=ROTARY_FIXED)
    before = await pulled(pulling)
    params = types.WorkspaceDiagnosticParams(
        [types.PreviousResultId(uri, it.result_id or "") for uri, it in before.items()]
    )
    waiting = pulling.client.protocol.send_request(types.WORKSPACE_DIAGNOSTIC, params, msg_id="held")
    pulling.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams("held"))
    with pytest.raises((JsonRpcException, asyncio.CancelledError), match=r"(?i)cancel|^$"):
        await asyncio.wait_for(asyncio.wrap_future(waiting), PATIENCE_S)
    fill(project, model=ROTARY)
    (report,) = (await pulled(pulling)).values()
    assert len(full(report).items) == 1


async def test_a_client_may_want_open_documents_alone(project: Path) -> None:
    capabilities = client_capabilities(pulls=True)
    async with editor(project, capabilities=capabilities, options={"workspaceDiagnostics": False}) as session:
        provider = session.capabilities.diagnostic_provider
    assert provider is not None and provider.workspace_diagnostics is False


READING = """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
READ_LINE = 9


async def test_a_capture_judges_files_that_are_not_open(project: Path, pulling: Editor) -> None:
    uris = fill(project, train=READING, other=ROTARY)
    before = await pulled(pulling)
    waits = LineCost("", READ_LINE, cpu_us=1e4, waits=80, idle_us={IdleCause.SYNC: 310_000})
    write_capture(project, "20260101T000000Z-a", "train.py", [waits])
    confirmed = await pulled(pulling, before)
    (found,) = full(confirmed[uris["train"]]).items
    assert found.severity is types.DiagnosticSeverity.Error
    assert found.message.startswith("Costs 31.0 ms of a 100 ms step: 8 waits. ")
    # What was not captured is not looked at again.
    assert isinstance(confirmed[uris["other"]], types.WorkspaceUnchangedDocumentDiagnosticReport)
    write_capture(project, "20260102T000000Z-b", "train.py", [LineCost("", READ_LINE, cpu_us=1e4)])
    (refuted,) = full((await pulled(pulling, confirmed))[uris["train"]]).items
    assert refuted.severity is types.DiagnosticSeverity.Hint
    # An edit of the line takes what was measured of it away.
    fill(project, train=READING.replace("print(loss.item())", "print(2 * loss.item())"))
    (edited,) = full((await pulled(pulling))[uris["train"]]).items
    assert edited.severity is types.DiagnosticSeverity.Warning


async def test_open_and_closed_files_are_judged_alike(project: Path, pulling: Editor) -> None:
    uris = fill(project, train=READING)
    write_capture(project, "20260101T000000Z-a", "train.py", [LineCost("", READ_LINE, cpu_us=1e4)])
    (closed,) = full((await pulled(pulling))[uris["train"]]).items
    pulling.open(project / "train.py", READING)
    judged = types.DiagnosticSeverity.Hint
    for _ in range(50):
        (opened,) = full((await pulled(pulling))[uris["train"]]).items
        if opened.severity is judged:
            break
        await asyncio.sleep(0.2)
    assert (opened.message, opened.range) == (closed.message, closed.range)
    assert closed.severity is judged
