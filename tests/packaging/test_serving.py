"""The server of an unpacked extension file, with a client."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_editor import Editor, applied, client_capabilities, editor
from lsp_samples import ROTARY, ROTARY_FIXED, ROTARY_RANGE
from lsprotocol import types
from places import Environment, launch_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text("")
    (root / "rotary.py").write_text(ROTARY)
    return root


def server(environment: Environment, extension: Path) -> list[str]:
    return launch_command(environment.python, extension, "fromEnvironment", "server", "--stdio")


def can_show_disabled_actions() -> types.ClientCapabilities:
    capabilities = client_capabilities()
    assert capabilities.text_document is not None
    assert capabilities.text_document.code_action is not None
    capabilities.text_document.code_action.disabled_support = True
    return capabilities


async def fix(session: Editor, project: Path) -> types.CodeAction:
    uri = session.open(project / "rotary.py")
    (finding,) = await session.diagnostics(uri)
    assert finding.code == "WL101"
    actions = await session.actions(uri, ROTARY_RANGE)
    return next(action for action in actions if action.kind == types.CodeActionKind.QuickFix)


@pytest.mark.asyncio
async def test_finds_and_fixes_with_nothing_but_the_extension(
    bare: Environment, for_this_platform: Path, project: Path
) -> None:
    async with editor(project, command=server(bare, for_this_platform)) as session:
        action = await fix(session, project)
        assert action.disabled is None
        assert applied(ROTARY, action.edit, (project / "rotary.py").as_uri()) == ROTARY_FIXED


@pytest.mark.asyncio
async def test_without_libcst_a_fix_says_what_it_lacks(
    environment: Environment, universal: Path, project: Path
) -> None:
    capabilities = can_show_disabled_actions()
    async with editor(project, capabilities=capabilities, command=server(environment, universal)) as session:
        action = await fix(session, project)
        assert action.disabled is not None
        assert "libcst" in action.disabled.reason
        assert action.edit is None


@pytest.mark.asyncio
async def test_beside_the_environments_old_libraries(
    environment: Environment, for_this_platform: Path, project: Path
) -> None:
    environment.install("attrs==21.4.0", "cattrs==22.1.0", "lsprotocol==2023.0.1", "pygls==1.3.1")
    async with editor(project, command=server(environment, for_this_platform)) as session:
        action = await fix(session, project)
        assert applied(ROTARY, action.edit, (project / "rotary.py").as_uri()) == ROTARY_FIXED
