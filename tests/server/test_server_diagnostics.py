"""Findings appear in the editor, follow the text, and go with it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
import pytest_lsp
from lsp_editor import SLOW_POLLING_SERVER, Editor, client_capabilities, editor, span
from lsp_samples import NOISY_LINE, ROTARY, ROTARY_AND_NOISY, ROTARY_FIXED, ROTARY_LINE, ROTARY_RANGE
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="session")


def written(project: Path, text: str, name: str = "model.py") -> Path:
    path = project / name
    path.write_text(text, encoding="utf-8")
    return path


async def test_opening_a_file_shows_its_findings(project: Path, session: Editor) -> None:
    uri = session.open(written(project, ROTARY))
    (found,) = await session.diagnostics(uri)
    assert (found.code, found.source, found.range) == ("WL101", "warplint", ROTARY_RANGE)
    assert found.severity is types.DiagnosticSeverity.Warning
    assert found.data is not None
    assert found.data["fix"] == "safe"


async def test_the_code_leads_to_the_rule_s_documentation(project: Path, session: Editor) -> None:
    (found,) = await session.diagnostics(session.open(written(project, ROTARY)))
    assert found.code_description is not None
    page = Path(unquote(urlparse(found.code_description.href).path))
    assert "WL101" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("recorded", ["visual_studio_code", "neovim", "emacs"])
async def test_recorded_clients_get_diagnostics(project: Path, recorded: str) -> None:
    capabilities = pytest_lsp.client_capabilities(recorded)
    async with editor(project, capabilities=capabilities) as session:
        (found,) = await session.diagnostics(session.open(written(project, ROTARY)))
    assert found.range == ROTARY_RANGE


async def test_an_edit_is_answered_for_its_own_version(project: Path, session: Editor) -> None:
    uri = session.open(written(project, ROTARY_FIXED))
    assert not await session.diagnostics(uri)
    session.change(uri, 7, ROTARY)
    (found,) = await session.diagnostics(uri, 7)
    assert found.range == ROTARY_RANGE
    session.change(uri, 8, "\n\n", span(0, 0, 0))
    (found,) = await session.diagnostics(uri, 8)
    assert found.range.start.line == ROTARY_LINE + 2


async def test_results_of_an_older_text_are_never_shown_as_those_of_a_newer(
    project: Path, session: Editor
) -> None:
    uri = session.open(written(project, ROTARY))
    for version in range(2, 40):
        session.change(uri, version, "\n", span(0, 0, 0))
    await session.diagnostics(uri, 39)
    published = session.of(uri)
    for publication in published:
        assert publication.version is not None
        (found,) = publication.diagnostics
        assert found.range.start.line == ROTARY_LINE + publication.version - 1
    versions = [publication.version for publication in published]
    assert versions == sorted(set(versions), key=lambda version: version or 0)


async def test_a_half_typed_statement_leaves_the_findings_elsewhere(project: Path, session: Editor) -> None:
    uri = session.open(written(project, ROTARY))
    await session.diagnostics(uri)
    session.change(uri, 2, "def half(x\n", span(3, 0, 0))
    found = {it.code: it for it in await session.diagnostics(uri, 2)}
    assert found["WL101"].range.start.line == ROTARY_LINE + 1
    assert found["WL001"].severity is types.DiagnosticSeverity.Error


EMOJI = ROTARY.replace("steps = ", 'note = "🧠"; steps = ')
BEFORE = EMOJI.splitlines()[ROTARY_LINE].partition("torch")[0]
COLUMNS = {
    types.PositionEncodingKind.Utf8: len(BEFORE.encode("utf-8")),
    types.PositionEncodingKind.Utf16: len(BEFORE.encode("utf-16-le")) // 2,
    types.PositionEncodingKind.Utf32: len(BEFORE),
}


@pytest.mark.parametrize("encoding", COLUMNS)
async def test_columns_count_in_the_agreed_unit(project: Path, encoding: types.PositionEncodingKind) -> None:
    async with editor(project, capabilities=client_capabilities(encodings=[encoding])) as session:
        assert session.capabilities.position_encoding == encoding
        (found,) = await session.diagnostics(session.open(written(project, EMOJI)))
    assert found.range.start.character == COLUMNS[encoding]


@pytest.mark.parametrize("encoding", COLUMNS)
async def test_edits_after_an_emoji_land_where_the_client_means(
    project: Path, encoding: types.PositionEncodingKind
) -> None:
    column = COLUMNS[encoding]
    async with editor(project, capabilities=client_capabilities(encodings=[encoding])) as session:
        uri = session.open(written(project, EMOJI))
        await session.diagnostics(uri)
        session.change(uri, 2, "(", span(ROTARY_LINE, column, column))
        session.change(uri, 3, ")", span(ROTARY_LINE, column + 38, column + 38))
        (found,) = await session.diagnostics(uri, 3)
    assert found.code == "WL101"
    assert found.range == span(ROTARY_LINE, column + 1, column + 38)


async def test_a_form_feed_is_no_end_of_line(project: Path, session: Editor) -> None:
    text = ROTARY.replace("\n\n\nclass", "\n\x0c\n\nclass")
    uri = session.open(project / "model.py", text)
    await session.diagnostics(uri)
    session.change(uri, 2, "0", span(ROTARY_LINE, 37, 38))
    (found,) = await session.diagnostics(uri, 2)
    assert found.range == ROTARY_RANGE


async def test_a_client_that_pulls_is_not_sent_anything_unasked(project: Path) -> None:
    async with editor(project, capabilities=client_capabilities(pulls=True)) as session:
        uri = session.open(written(project, ROTARY))
        full = await pulled(session, uri)
        assert isinstance(full, types.RelatedFullDocumentDiagnosticReport)
        assert [it.range for it in full.items] == [ROTARY_RANGE]
        again = await pulled(session, uri, full.result_id)
        assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
        session.change(uri, 2, ROTARY_FIXED)
        changed = await pulled(session, uri, full.result_id)
        assert isinstance(changed, types.RelatedFullDocumentDiagnosticReport)
        assert not changed.items
        session.close(uri)
        assert not session.published


async def test_a_pull_after_the_configuration_has_changed_is_answered_in_full(project: Path) -> None:
    async with editor(project, capabilities=client_capabilities(pulls=True)) as session:
        uri = session.open(written(project, ROTARY))
        before = await pulled(session, uri)
        assert isinstance(before, types.RelatedFullDocumentDiagnosticReport)
        (project / "pyproject.toml").write_text('[tool.warplint]\nignore = ["WL1"]\n')
        await session.until(lambda: session.refreshes)
        after = await pulled(session, uri, before.result_id)
        assert isinstance(after, types.RelatedFullDocumentDiagnosticReport)
        assert not after.items


@pytest.mark.parametrize(
    "capabilities", [client_capabilities(), client_capabilities(pulls=True, refreshes=False)]
)
async def test_a_client_that_cannot_be_asked_to_pull_again_is_sent_diagnostics(
    project: Path, capabilities: types.ClientCapabilities
) -> None:
    async with editor(project, capabilities=capabilities) as session:
        assert session.capabilities.diagnostic_provider is None
        assert await session.diagnostics(session.open(written(project, ROTARY)))


async def pulled(session: Editor, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
    params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
    return await session.client.text_document_diagnostic_async(params)


async def test_closing_a_document_takes_its_diagnostics_away(project: Path, session: Editor) -> None:
    uri = session.open(written(project, ROTARY))
    await session.diagnostics(uri)
    session.close(uri)
    await session.until(lambda: len(session.of(uri)) == 2)
    assert not session.of(uri)[-1].diagnostics


async def test_documents_that_are_no_python_files_are_left_alone(project: Path) -> None:
    async with editor(project) as session:
        for uri, language in (
            ("untitled:Untitled-1", "plaintext"),
            ("vscode-notebook-cell:/a/b.ipynb#W0", "python"),
            ((project / "notes.md").as_uri(), "markdown"),
        ):
            session.open(project, ROTARY, uri=uri, language=language)
            session.change(uri, 2, "x")
            assert await session.hover(uri, 0, 0) is None
            assert await session.actions(uri, span(0, 0, 1)) == []
            session.close(uri)
        uri = session.open(written(project, ROTARY))
        await session.diagnostics(uri)
    assert {it.uri for it in session.published} == {uri}


async def test_a_buffer_that_was_never_saved_is_checked(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.warplint.severity]\nWL1 = "hint"\n')
    async with editor(project) as session:
        uri = session.open(project, ROTARY, uri="untitled:Untitled-1")
        (found,) = await session.diagnostics(uri)
    assert (found.range, found.severity) == (ROTARY_RANGE, types.DiagnosticSeverity.Hint)


async def test_the_text_in_the_editor_counts_and_not_the_file(project: Path, session: Editor) -> None:
    path = written(project, ROTARY)
    uri = session.open(path)
    await session.diagnostics(uri)
    path.unlink()
    session.change(uri, 2, ROTARY + "\n")
    (found,) = await session.diagnostics(uri, 2)
    assert found.range == ROTARY_RANGE


async def test_each_root_has_its_own_configuration(tmp_path: Path) -> None:
    roots = []
    for name, table in (("one", ""), ("two", '[tool.warplint]\nignore = ["WL101"]\n')):
        root = tmp_path / name
        root.mkdir()
        (root / "pyproject.toml").write_text(table)
        roots.append(root)
    async with editor(*roots) as session:
        one, two = (session.open(written(root, ROTARY)) for root in roots)
        assert len(await session.diagnostics(one)) == 1
        assert not await session.diagnostics(two)


async def test_a_file_outside_every_project_is_checked_too(
    project: Path, tmp_path: Path, session: Editor
) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (found,) = await session.diagnostics(session.open(written(outside, ROTARY)))
    assert found.code == "WL101"


async def test_excluded_files_and_installed_libraries_are_not_checked(project: Path, session: Editor) -> None:
    (project / "pyproject.toml").write_text('[tool.warplint]\nextend-exclude = ["generated"]\n')
    for folder in ("generated", "lib/python3.11/site-packages/kit"):
        (project / folder).mkdir(parents=True)
        assert not await session.diagnostics(session.open(written(project / folder, ROTARY)))


async def test_changed_configuration_is_taken_over(project: Path, session: Editor) -> None:
    uri = session.open(written(project, ROTARY))
    assert await session.diagnostics(uri)
    (project / "pyproject.toml").write_text('[tool.warplint]\nignore = ["WL1"]\n')
    await session.until(lambda: not session.of(uri)[-1].diagnostics)


async def test_unusable_configuration_is_said_once_and_the_defaults_hold(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.warplint]\nselekt = ["WL1"]\n')
    async with editor(project) as session:
        uri = session.open(written(project, ROTARY))
        assert len(await session.diagnostics(uri)) == 1
        session.change(uri, 2, ROTARY_AND_NOISY)
        found = await session.diagnostics(uri, 2)
        assert [it.range.start.line for it in found] == [ROTARY_LINE, NOISY_LINE]
    (message,) = session.client.messages
    assert "pyproject.toml" in message.message
    assert "selekt" in message.message
    assert message.message in [it.message for it in session.client.log_messages]


async def test_a_change_that_several_watchers_tell_of_is_taken_over_once(project: Path) -> None:
    path = project / "pyproject.toml"
    change = types.DidChangeWatchedFilesParams([types.FileEvent(path.as_uri(), types.FileChangeType.Changed)])
    watches = client_capabilities(watches=True)
    async with editor(project, capabilities=watches, command=SLOW_POLLING_SERVER) as session:
        uri = session.open(written(project, ROTARY))
        await session.diagnostics(uri)
        for key in ("selekt", "ignoer"):
            path.write_text(f'[tool.warplint]\n{key} = ["WL1"]\n')
            session.client.workspace_did_change_watched_files(change)
            await session.until(partial(told_of, session, key))
            session.client.workspace_did_change_watched_files(change)
            # Answered after that was taken in: the next change is written behind nobody's back.
            await session.client.text_document_hover_async(
                types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 0))
            )
        session.change(uri, 2, ROTARY_AND_NOISY)
        await session.diagnostics(uri, 2)
        assert unknown_keys(session) == ["selekt", "ignoer"]


def told_of(session: Editor, key: str) -> bool:
    return key in unknown_keys(session)


def unknown_keys(session: Editor) -> list[str]:
    """The keys of the configuration that the server has complained of, each time that it did."""
    told = (it.message for it in session.client.log_messages)
    return [found[1] for message in told if (found := re.search("has no key '(.+?)'", message))]


async def test_a_comment_that_is_not_understood_is_shown(project: Path, session: Editor) -> None:
    text = ROTARY.replace("x.device)\n", "x.device)  # warplint: ignore[WL999]\n", 1)
    found = await session.diagnostics(session.open(written(project, text)))
    assert any("WL999" in it.message for it in found)
