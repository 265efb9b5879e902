"""The editor's settings hold per folder, and change without a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_captures import write_capture
from lsp_editor import client_capabilities, editor
from lsp_samples import ROTARY, ROTARY_LINE, ROTARY_RANGE
from lsprotocol import types

from warplint.profile.model import LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

DRAWS = {"draws": True}


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two projects, each with a capture of its model.py that charges 2% of the time to one line."""
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
        (root / "pyproject.toml").write_text("")
        (root / "model.py").write_text(ROTARY)
        cost = LineCost("", ROTARY_LINE + 1, busy_us=20_000.0, share=0.02)
        write_capture(root, "20260101T000000Z-train", "model.py", [cost])
    return roots


async def test_enable_off_leaves_that_folder_alone(folders: list[Path]) -> None:
    one, two = folders
    async with editor(*folders, settings={one: {"enable": False}}, options=DRAWS) as session:
        first, second = (session.open(root / "model.py") for root in folders)
        await session.until(lambda: session.drawn(second) and session.drawn(second).costs)
        assert [it.range for it in session.shown(second)] == [ROTARY_RANGE]
        # Not even for a moment, while the settings are asked for.
        assert not any(published.diagnostics for published in session.of(first))
        assert await session.hover(first, ROTARY_LINE, 20) is None
        assert await session.actions(first, ROTARY_RANGE) == []
        assert not session.drawn(first).costs
        session.change(first, 2, ROTARY + "\n")
        session.configure({"enable": False}, two)
        await session.until(lambda: not session.drawn(second).costs)
        assert not session.shown(second)
        session.configure({"enable": True}, one)
        await session.until(lambda: session.drawn(first).costs)
        assert session.drawn(first).version == 2
        assert [it.range for it in session.shown(first)] == [ROTARY_RANGE]
        assert not session.shown(second)


async def test_a_file_outside_every_folder_has_the_settings_that_hold_everywhere(
    folders: list[Path],
) -> None:
    one, _ = folders
    async with editor(one, settings={None: {"enable": False}, one: {}}) as session:
        inside, outside = (session.open(root / "model.py") for root in folders)
        assert await session.diagnostics(inside)
        assert await session.hover(outside, ROTARY_LINE, 20) is None


@pytest.mark.parametrize(("percent", "shown"), [(2, True), (2.1, False), (0, True), (100, False)])
async def test_the_minimum_share_decides_which_lines_have_costs(
    folders: list[Path], percent: float, shown: bool
) -> None:
    async with editor(folders[0], settings={None: {}}, options=DRAWS) as session:
        uri = session.open(folders[0] / "model.py")
        await session.until(lambda: session.drawn(uri) and session.drawn(uri).costs)
        session.configure({"costs": {"minimumShare": percent}})
        sent = len(session.states)
        session.configure({"costs": {"minimumShare": percent, "codeLens": False}})
        await session.until(lambda: len(session.states) > sent)
        assert bool(session.drawn(uri).costs) is shown


async def test_costs_can_be_turned_off_and_on_again(folders: list[Path]) -> None:
    async with editor(folders[0], settings={None: {}}, options=DRAWS) as session:
        uri = session.open(folders[0] / "model.py")
        await session.until(lambda: session.drawn(uri) and session.drawn(uri).costs)
        session.configure({"costs": {"inline": False}})
        await session.until(lambda: not session.drawn(uri).costs)
        assert session.drawn(uri).capture.name == "20260101T000000Z-train"
        assert await session.hover(uri, ROTARY_LINE, 20)
        session.configure({})
        await session.until(lambda: session.drawn(uri).costs)


async def test_a_value_of_another_kind_is_logged_once_and_the_default_holds(folders: list[Path]) -> None:
    wrong = {"enable": "no", "costs": {"inline": 1, "minimumShare": True, "codeLens": None}}
    async with editor(*folders, settings={None: wrong}, options=DRAWS) as session:
        uri = session.open(folders[0] / "model.py")
        await session.until(lambda: session.drawn(uri) and session.drawn(uri).costs)
        session.configure({**wrong, "unknown": 1})
        session.configure({**wrong, "enable": False})
        await session.until(lambda: not session.shown(uri))
        said = [it.message for it in session.client.log_messages if "must be" in it.message]
    assert [message.partition(" must be ")[0] for message in said] == [
        "warplint.enable",
        "warplint.costs.inline",
        "warplint.costs.minimumShare",
    ]


@pytest.mark.parametrize("answer", [None, [], ["?", 1, {"enable": False}, {}]])
async def test_a_client_that_answers_something_else_gets_the_defaults(
    folders: list[Path], answer: list[object] | None
) -> None:
    async def configuration(_: types.ConfigurationParams) -> list[object] | None:
        return answer

    async with editor(folders[0], capabilities=client_capabilities(configures=True)) as session:
        session.client.protocol.fm.features[types.WORKSPACE_CONFIGURATION] = configuration
        assert await session.diagnostics(session.open(folders[0] / "model.py"))


async def test_a_client_that_refuses_to_answer_gets_the_defaults(folders: list[Path]) -> None:
    async with editor(folders[0], capabilities=client_capabilities(configures=True)) as session:
        del session.client.protocol.fm.features[types.WORKSPACE_CONFIGURATION]
        assert await session.diagnostics(session.open(folders[0] / "model.py"))
