"""Notebooks: cells are one program, and each shows what is found in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_editor import Editor, client_capabilities, editor, span
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="session")

IMPORTS = "%matplotlib inline\nimport torch\nfrom torch import nn"
NET = """\
class Net(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1]).to(x.device)
        return x * steps"""
FOUND = span(2, 16, 53)


class Cells:
    """A notebook in an editor."""

    def __init__(self, session: Editor, path: Path, *texts: str) -> None:
        self.session = session
        self.uri = path.as_uri()
        self.version = 1
        self.uris = [self.cell_uri(number) for number in range(len(texts))]
        items = [self.item(uri, text) for uri, text in zip(self.uris, texts, strict=True)]
        cells = [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in self.uris]
        notebook = types.NotebookDocument(self.uri, "jupyter-notebook", 1, cells)
        params = types.DidOpenNotebookDocumentParams(notebook, items)
        session.client.notebook_document_did_open(params)

    def cell_uri(self, name: object) -> str:
        return self.uri.replace("file:", "vscode-notebook-cell:") + f"#{name}"

    @staticmethod
    def item(uri: str, text: str) -> types.TextDocumentItem:
        return types.TextDocumentItem(uri, "python", 1, text)

    def change(self, changes: types.NotebookDocumentCellChanges) -> None:
        self.version += 1
        identifier = types.VersionedNotebookDocumentIdentifier(self.version, self.uri)
        event = types.NotebookDocumentChangeEvent(cells=changes)
        self.session.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(identifier, event)
        )

    def edit(self, uri: str, version: int, text: str, where: types.Range) -> None:
        change = types.TextDocumentContentChangePartial(where, text)
        content = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(version, uri), [change]
        )
        self.change(types.NotebookDocumentCellChanges(text_content=[content]))

    def restructure(self, start: int, gone: list[str], come: dict[str, str]) -> None:
        array = types.NotebookCellArrayChange(
            start, len(gone), [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in come]
        )
        structure = types.NotebookDocumentCellChangeStructure(
            array,
            did_open=[self.item(uri, text) for uri, text in come.items()],
            did_close=[types.TextDocumentIdentifier(uri) for uri in gone],
        )
        self.change(types.NotebookDocumentCellChanges(structure=structure))

    def close(self) -> None:
        self.session.client.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(self.uri),
                [types.TextDocumentIdentifier(uri) for uri in self.uris],
            )
        )


@pytest.fixture
def notebook(project: Path) -> Path:
    return project / "train.ipynb"


async def test_a_cell_shows_its_own_findings_in_its_own_lines(notebook: Path, session: Editor) -> None:
    imports, net = Cells(session, notebook, IMPORTS, NET).uris
    (found,) = await session.diagnostics(net)
    assert (found.code, found.range) == ("WL101", FOUND)
    assert not await session.diagnostics(imports)


async def test_findings_follow_edits_and_the_order_of_cells(notebook: Path, session: Editor) -> None:
    cells = Cells(session, notebook, IMPORTS, NET)
    _, net = cells.uris
    await session.diagnostics(net)
    cells.edit(net, 2, "# é\n", span(0, 0, 0))
    (found,) = await session.diagnostics(net, 2)
    assert found.range.start.line == FOUND.start.line + 1
    new = cells.cell_uri("new")
    cells.restructure(1, [], {new: "!ls\nx = torch.zeros(3)\n"})
    assert not await session.diagnostics(new)
    assert session.shown(net)[0].range.start.line == FOUND.start.line + 1
    cells.restructure(2, [net], {})
    await session.until(lambda: not session.shown(net))


async def test_a_cell_that_does_not_parse_says_so_and_the_others_are_checked(
    notebook: Path, session: Editor
) -> None:
    _, broken, net = Cells(session, notebook, IMPORTS, "def half(:\n    pass", NET).uris
    (found,) = await session.diagnostics(net)
    assert found.code == "WL101"
    (fault,) = await session.diagnostics(broken)
    assert (fault.code, fault.range.start.line) == ("WL001", 0)
    assert fault.severity is types.DiagnosticSeverity.Error


async def test_a_closed_notebook_shows_nothing(notebook: Path, session: Editor) -> None:
    cells = Cells(session, notebook, IMPORTS, NET)
    assert await session.diagnostics(cells.uris[1])
    cells.close()
    await session.until(lambda: not session.shown(cells.uris[1]))


async def test_a_hover_and_a_fix_are_of_the_cell(notebook: Path, session: Editor) -> None:
    cells = Cells(session, notebook, IMPORTS, NET)
    imports, net = cells.uris
    await session.diagnostics(net)
    assert "WL101" in (await session.hover(net, 2, 20) or "")
    assert await session.hover(imports, 2, 20) is None
    assert not await session.actions(imports, span(0, 0, 3), ["quickfix"])
    fix, ignore = await session.actions(net, FOUND, ["quickfix"])
    made = []
    for action in (fix, ignore):
        assert action.edit is not None and action.edit.document_changes
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (net, 1)
        made += [edit for edit in change.edits if isinstance(edit, types.TextEdit)]
    assert all(edit.range.start.line == 2 for edit in made)
    assert made[-1].range == span(2, 53, 53)


async def test_a_client_that_pulls_asks_for_each_cell(project: Path, notebook: Path) -> None:
    async with editor(project, capabilities=client_capabilities(pulls=True)) as session:
        cells = Cells(session, notebook, IMPORTS, NET)
        counts = []
        for uri in cells.uris:
            params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
            report = await session.client.text_document_diagnostic_async(params)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            counts.append(len(report.items))
    assert counts == [0, 1]
    assert not session.published
