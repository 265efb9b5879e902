"""Fixes, suppressions and fix-all change the text as they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from lsp_editor import Editor, applied, client_capabilities, editor, span
from lsp_samples import NOISY_FIXED, NOISY_LINE, ROTARY, ROTARY_AND_NOISY, ROTARY_FIXED, ROTARY_LINE
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")

ON_ROTARY = span(ROTARY_LINE, 20, 20)
ON_NOISY = span(NOISY_LINE, 20, 20)
FIX_ALL = "source.fixAll.warplint"


async def quick_fixes(session: Editor, uri: str, where: types.Range) -> list[types.CodeAction]:
    return await session.actions(uri, where, [types.CodeActionKind.QuickFix.value])


@pytest.mark.parametrize("resolves", [True, False])
async def test_a_quick_fix_makes_the_expected_text(project: Path, resolves: bool) -> None:
    async with editor(project, capabilities=client_capabilities(resolves=resolves)) as session:
        uri = session.open(project / "model.py", ROTARY)
        assert isinstance(session.capabilities.code_action_provider, types.CodeActionOptions)
        assert session.capabilities.code_action_provider.resolve_provider
        fix, ignore = await quick_fixes(session, uri, ON_ROTARY)
        assert fix.is_preferred
        assert fix.diagnostics is not None
        assert [it.code for it in fix.diagnostics] == ["WL101"]
        assert not ignore.is_preferred
        if resolves:
            assert fix.edit is None
            fix = await session.client.code_action_resolve_async(fix)
        assert applied(ROTARY, fix.edit, uri) == ROTARY_FIXED


async def test_an_unsafe_fix_says_so_and_is_not_preferred(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", ROTARY_AND_NOISY)
    fix, _ = await quick_fixes(session, uri, ON_NOISY)
    assert "unsafe" in fix.title
    assert not fix.is_preferred
    assert applied(ROTARY_AND_NOISY, fix.edit, uri) == ROTARY + NOISY_FIXED


async def test_fix_all_makes_safe_fixes_only(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", ROTARY_AND_NOISY)
    (action,) = await session.actions(uri, span(0, 0, 0), ["source.fixAll"])
    assert action.kind == FIX_ALL
    fixed = applied(ROTARY_AND_NOISY, action.edit, uri)
    assert fixed == ROTARY_AND_NOISY.replace(ROTARY, ROTARY_FIXED)


async def test_fix_all_leaves_what_lies_between_two_fixes_alone(project: Path, session: Editor) -> None:
    text = ROTARY + ROTARY.replace("Rotary", "Other")
    uri = session.open(project / "model.py", text)
    (action,) = await session.actions(uri, span(0, 0, 0), [FIX_ALL])
    assert applied(text, action.edit, uri) == ROTARY_FIXED + ROTARY_FIXED.replace("Rotary", "Other")
    other_line = ROTARY_LINE + len(ROTARY.splitlines())
    assert [(it.start.line, it.end.line) for it in replaced(action.edit)] == [
        (line, line) for line in (ROTARY_LINE, other_line)
    ]


def replaced(edit: types.WorkspaceEdit | None) -> list[types.Range]:
    """The ranges of a workspace edit of one document."""
    assert edit is not None
    (document,) = edit.document_changes or ()
    assert isinstance(document, types.TextDocumentEdit)
    return [change.range for change in document.edits]


async def test_fix_all_is_not_offered_where_nothing_is_safe(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", ROTARY_AND_NOISY.replace(ROTARY, ROTARY_FIXED))
    assert await session.actions(uri, span(0, 0, 0), [FIX_ALL]) == []


async def test_ignoring_silences_that_finding(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", ROTARY_AND_NOISY)
    _, ignore = await quick_fixes(session, uri, ON_ROTARY)
    text = applied(ROTARY_AND_NOISY, ignore.edit, uri)
    assert text.splitlines()[ROTARY_LINE].endswith("  # warplint: ignore[WL101]")
    session.change(uri, 2, text)
    assert [it.range.start.line for it in await session.diagnostics(uri, 2)] == [NOISY_LINE]


async def test_a_place_without_findings_has_no_quick_fix(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", ROTARY)
    assert await quick_fixes(session, uri, span(0, 0, 3)) == []


async def test_a_statement_that_does_not_parse_has_no_quick_fix(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", "import torch\nx = (\n")
    assert [it.code for it in await session.diagnostics(uri)] == ["WL001"]
    assert await quick_fixes(session, uri, span(1, 0, 5)) == []


async def test_an_action_chosen_after_an_edit_is_refused(project: Path) -> None:
    async with editor(project, capabilities=client_capabilities(resolves=True)) as session:
        uri = session.open(project / "model.py", ROTARY)
        fix, _ = await quick_fixes(session, uri, ON_ROTARY)
        session.change(uri, 2, "\n", span(0, 0, 0))
        with pytest.raises(JsonRpcException) as refused:
            await session.client.code_action_resolve_async(fix)
    assert refused.value.code == types.LSPErrorCodes.ContentModified


async def test_an_action_whose_finding_the_configuration_has_silenced_since_is_refused(project: Path) -> None:
    async with editor(project, capabilities=client_capabilities(resolves=True)) as session:
        uri = session.open(project / "model.py", ROTARY)
        fix, _ = await quick_fixes(session, uri, ON_ROTARY)
        (project / "pyproject.toml").write_text('[tool.warplint]\nignore = ["WL1"]\n')
        await session.until(lambda: len(session.of(uri)) == 2)
        with pytest.raises(JsonRpcException) as refused:
            await session.client.code_action_resolve_async(fix)
    assert refused.value.code == types.LSPErrorCodes.ContentModified


async def test_edits_name_the_version_they_are_for(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", ROTARY)
    session.change(uri, 5, ROTARY_AND_NOISY)
    fix, _ = await quick_fixes(session, uri, ON_ROTARY)
    assert fix.edit is not None
    assert fix.edit.document_changes is not None
    (change,) = fix.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == 5


async def test_a_fix_after_an_emoji_lands_where_the_client_means(project: Path, session: Editor) -> None:
    text = ROTARY.replace("steps = ", 'note = "🧠"; steps = ')
    uri = session.open(project / "model.py", text)
    fix, _ = await quick_fixes(session, uri, span(ROTARY_LINE, 40, 40))
    assert applied(text, fix.edit, uri) == text.replace(
        ROTARY.splitlines()[ROTARY_LINE][16:], ROTARY_FIXED.splitlines()[ROTARY_LINE][16:]
    )


SERVER_NEEDS = ("pygls", "lsprotocol", "attr", "attrs", "cattrs", "typing_extensions", "exceptiongroup")
WARPLINT = ("warplint", "warplint_rules", "warplint_server")
SERVE = "from warplint_server.main import serve; sys.exit(serve())"


@pytest.fixture(params=["not installed", "made for another Python"])
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ...]:
    """A server in an environment without a libcst that works."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for name in SERVER_NEEDS + WARPLINT:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            found = origin.parent if origin.name == "__init__.py" else origin
            (libraries / found.name).symlink_to(found)
    if request.param == "made for another Python":
        (libraries / "libcst").mkdir()
        (libraries / "libcst" / "__init__.py").write_text("import libcst.native\n")
        (libraries / "libcst" / "native.cpython-32-alien.so").write_text("")
    return (sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(libraries)!r}); {SERVE}")


@pytest.mark.parametrize("resolves", [True, False])
async def test_without_libcst_fixes_are_shown_disabled_and_say_the_remedy(
    project: Path, bare: tuple[str, ...], resolves: bool
) -> None:
    capabilities = client_capabilities(resolves=resolves, shows_disabled=True)
    async with editor(project, capabilities=capabilities, command=bare) as session:
        uri = session.open(project / "model.py", ROTARY)
        fix, ignore, fix_all = await session.actions(uri, ON_ROTARY)
        assert ignore.disabled is None
        if resolves:
            ignore = await session.client.code_action_resolve_async(ignore)
    for action in (fix, fix_all):
        assert action.disabled is not None
        assert action.disabled.reason.endswith(f"{sys.executable} -m pip install libcst")
        assert not (action.edit or action.data or action.is_preferred)
    assert "# warplint: ignore[WL101]" in applied(ROTARY, ignore.edit, uri)


async def test_without_libcst_a_client_that_shows_none_disabled_is_offered_no_fixes(
    project: Path, bare: tuple[str, ...]
) -> None:
    async with editor(project, command=bare) as session:
        uri = session.open(project / "model.py", ROTARY)
        assert [action.title for action in await session.actions(uri, ON_ROTARY)] == ["Ignore WL101 here"]
