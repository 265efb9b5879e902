"""A new capture appears by itself, however the server comes to hear of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from lsp_captures import write_capture
from lsp_editor import SLOW_POLLING_SERVER, Editor, client_capabilities, editor
from lsp_samples import ROTARY, ROTARY_LINE
from lsprotocol import types

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST
from warplint.profile.model import LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

WITHOUT_WATCHDOG = (
    sys.executable,
    "-c",
    "import sys; sys.modules['watchdog'] = None; sys.modules['watchdog.events'] = None\n"
    "from warplint_server.main import serve; sys.exit(serve(poll_s=0.2))",
)


def capture(project: Path, name: str, share: float) -> Path:
    return write_capture(project, name, "model.py", [LineCost("", ROTARY_LINE + 1, waits=1, share=share)])


@pytest.fixture
def model(project: Path) -> Path:
    path = project / "model.py"
    path.write_text(ROTARY)
    return path


async def shows(session: Editor, uri: str, text: str) -> None:
    await session.until(lambda: any(text in found.message for found in session.shown(uri)))


@pytest.mark.parametrize(
    "command", [SLOW_POLLING_SERVER, WITHOUT_WATCHDOG], ids=["watchdog alone", "polling alone"]
)
@pytest.mark.parametrize("earlier", [False, True], ids=["the first", "a later"])
async def test_a_capture_appears(project: Path, model: Path, command: Sequence[str], earlier: bool) -> None:
    if earlier:
        capture(project, "20260101T000000Z-a", 0.5)
    async with editor(project, command=command) as session:
        uri = session.open(model)
        await (shows(session, uri, "50%") if earlier else session.diagnostics(uri))
        capture(project, "20260102T000000Z-b", 0.25)
        await shows(session, uri, "25%")


async def test_a_capture_appears_through_the_client(project: Path, model: Path) -> None:
    watches = client_capabilities(watches=True)
    async with editor(project, capabilities=watches, command=SLOW_POLLING_SERVER) as session:
        uri = session.open(model)
        await session.until(lambda: session.registrations)
        folder = capture(project, "20260101T000000Z-a", 0.5)
        session.client.workspace_did_change_watched_files(
            types.DidChangeWatchedFilesParams(
                [types.FileEvent((folder / MANIFEST).as_uri(), types.FileChangeType.Created)]
            )
        )
        await shows(session, uri, "50%")
        (registration,) = session.registrations
    assert registration.method == "workspace/didChangeWatchedFiles"
    assert registration.register_options is not None
    patterns = [watcher["globPattern"] for watcher in registration.register_options["watchers"]]
    assert {"baseUri": project.as_uri(), "pattern": f"{CAPTURES_DIRECTORY}/*/{MANIFEST}"} in patterns


async def test_a_client_that_pulls_is_asked_to_do_so_again(project: Path, model: Path) -> None:
    async with editor(project, capabilities=client_capabilities(pulls=True)) as session:
        uri = session.open(model)
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        await session.client.text_document_diagnostic_async(params)
        capture(project, "20260101T000000Z-a", 0.5)
        await session.until(lambda: session.refreshes)
        report = await session.client.text_document_diagnostic_async(params)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert "50%" in report.items[0].message


async def test_a_run_that_has_measured_nothing_yet_leaves_the_last_one_shown(
    project: Path, model: Path
) -> None:
    capture(project, "20260101T000000Z-a", 0.5)
    async with editor(project) as session:
        uri = session.open(model)
        await shows(session, uri, "50%")
        write_capture(project, "20260102T000000Z-b", "model.py", [])
        capture(project, "20260103T000000Z-c", 0.25)
        await shows(session, uri, "25%")
        assert all("Measured" in found.message for found in session.shown(uri))


async def test_opening_shows_the_newest_capture_that_has_measured_something(
    project: Path, model: Path
) -> None:
    capture(project, "20260101T000000Z-a", 0.5)
    capture(project, "20260102T000000Z-b", 0.25)
    write_capture(project, "20260103T000000Z-c", "model.py", [])
    damaged = project / CAPTURES_DIRECTORY / "20260104T000000Z-d"
    damaged.mkdir()
    (damaged / MANIFEST).write_text("{")
    async with editor(project) as session:
        await shows(session, session.open(model), "25%")
        assert any(damaged.name in it.message for it in session.client.log_messages)


async def test_a_damaged_capture_is_logged_and_the_findings_stay(project: Path, model: Path) -> None:
    folder = project / CAPTURES_DIRECTORY / "20260101T000000Z-a"
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text("{")
    async with editor(project) as session:
        uri = session.open(model)
        await session.until(lambda: any(MANIFEST in it.message for it in session.client.log_messages))
        assert len(session.shown(uri)) == 1
        capture(project, "20260102T000000Z-b", 0.25)
        await shows(session, uri, "25%")


async def test_captures_of_a_folder_without_markers_are_those_of_the_folder_open_in_the_editor(
    tmp_path: Path,
) -> None:
    (tmp_path / "pkg").mkdir()
    model = tmp_path / "pkg" / "model.py"
    model.write_text(ROTARY)
    write_capture(
        tmp_path, "20260101T000000Z-a", "pkg/model.py", [LineCost("", ROTARY_LINE + 1, waits=1, share=0.5)]
    )
    async with editor(tmp_path) as session:
        await shows(session, session.open(model), "50%")
