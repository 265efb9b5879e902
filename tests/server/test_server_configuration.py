"""What a project's own files say of how it is checked, in the editor."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsp_editor import Editor, editor, span
from lsp_samples import ROTARY, ROTARY_LINE
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="session")

PACK = Path(__file__).parent.parent.parent / "examples" / "rule-pack"
MASKED = """\
import torch
from torch import nn


class Hide(nn.Module):
    def forward(self, x):
        x[torch.ones(4, dtype=torch.bool)] = 0.0
        return x
"""


def configure(project: Path, table: str) -> None:
    (project / "pyproject.toml").write_text(table)


async def test_a_finding_has_the_severity_that_the_project_gives_it(project: Path, session: Editor) -> None:
    levels = {
        "error": types.DiagnosticSeverity.Error,
        "warning": types.DiagnosticSeverity.Warning,
        "info": types.DiagnosticSeverity.Information,
        "hint": types.DiagnosticSeverity.Hint,
    }
    for word, level in levels.items():
        root = project / word
        root.mkdir()
        configure(root, f'[tool.warplint.severity]\nWL1 = "{word}"\n')
        (found,) = await session.diagnostics(session.open(root / "model.py", ROTARY))
        assert found.severity is level


async def test_a_comment_that_silences_nothing_is_grey_and_can_be_removed(
    project: Path, session: Editor
) -> None:
    text = "import torch\n\nx = 3  # warplint: ignore[WL101]\n"
    uri = session.open(project / "model.py", text)
    (found,) = await session.diagnostics(uri)
    assert (found.code, list(found.tags or ())) == ("WL003", [types.DiagnosticTag.Unnecessary])
    assert found.range == span(2, 7, 32)
    (action,) = [it for it in await session.actions(uri, span(2, 10, 10)) if it.kind == "quickfix"]
    assert action.edit is not None and action.edit.document_changes
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert [it.range for it in change.edits if isinstance(it, types.TextEdit)] == [span(2, 5, 32)]


async def test_a_half_typed_configuration_leaves_the_last_valid_one_and_is_warned_of_once(
    project: Path,
) -> None:
    configure(project, '[tool.warplint]\nignore = ["WL1"]\n')
    async with editor(project) as session:
        uri = session.open(project / "model.py", ROTARY)
        assert not await session.diagnostics(uri)
        for half in ('[tool.warplint]\nignore = ["W', "[tool.warplint]\nigno = []\n"):
            configure(project, half)
            told = len(session.client.log_messages)
            await session.until(lambda told=told: len(session.client.log_messages) > told)
            session.change(uri, told, ROTARY)
            assert not await session.diagnostics(uri, told)
        (warning,) = session.client.messages
        assert "The last valid settings stay" in warning.message
        configure(project, '[tool.warplint]\nselect = ["WL"]\n')
        await session.until(lambda: session.shown(uri))


@pytest.mark.parametrize("trusted", [True, False])
async def test_rule_packs_run_only_where_the_user_trusts_the_folder(project: Path, trusted: bool) -> None:
    shutil.copytree(PACK, project, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    async with editor(project, options={"trusted": trusted}) as session:
        found = await session.diagnostics(session.open(project / "train.py"))
        said = [it.message for it in session.client.log_messages if "team_rules" in it.message]
    assert ("TEAM101" in {it.code for it in found}) is trusted
    assert bool(said) is not trusted
    assert trusted or "does not say that you trust it" in said[0]


async def test_a_pack_that_cannot_be_imported_leaves_the_other_rules(project: Path) -> None:
    configure(project, '[tool.warplint]\npacks = ["no_such_pack"]\n')
    async with editor(project, options={"trusted": True}) as session:
        (found,) = await session.diagnostics(session.open(project / "model.py", ROTARY))
        (said,) = [it.message for it in session.client.log_messages if "no_such_pack" in it.message]
    assert found.range.start.line == ROTARY_LINE
    assert "cannot be imported" in said


async def test_a_changed_requirement_of_torch_is_taken_over(project: Path, session: Editor) -> None:
    (project / "requirements.txt").write_text("torch>=2.8\n")
    uri = session.open(project / "model.py", MASKED)
    (found,) = await session.diagnostics(uri)
    assert found.code == "WL102"
    (project / "requirements.txt").write_text("torch>=2.9\n")
    await session.until(lambda: not session.shown(uri))


async def test_the_torch_of_the_interpreter_that_runs_the_programs_counts(project: Path) -> None:
    for version in ("2.8.0", "2.9.1"):
        packages = project / version / "lib/python3.11/site-packages"
        (packages / f"torch-{version}.dist-info").mkdir(parents=True)

    def settings(version: str) -> dict[str, object]:
        return {"program": {"interpreter": str(project / version / "bin" / "python")}}

    async with editor(project, settings={None: settings("2.8.0"), project: settings("2.8.0")}) as session:
        uri = session.open(project / "model.py", MASKED)
        (found,) = await session.diagnostics(uri)
        assert found.code == "WL102"
        session.configure(settings("2.9.1"), project)
        await session.until(lambda: not session.shown(uri))
