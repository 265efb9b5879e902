"""Clients that do not draw costs themselves get them as inlay hints."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_lsp
from lsp_captures import write_capture
from lsp_editor import Editor, client_capabilities, editor, span
from lsp_samples import ROTARY, ROTARY_LINE

from warplint.profile.model import LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

RETURN_LINE = ROTARY_LINE + 1
EVERYTHING = span(0, 0, 0)
EVERYTHING.end.line = 100
HINTS = client_capabilities(refreshes_costs=True)


@pytest.fixture
def model(project: Path) -> Path:
    """A file whose last two lines were measured, in ten steps; the first of them with an emoji in it."""
    path = project / "model.py"
    path.write_text(ROTARY.replace("steps = ", 'note = "🧠"; steps = '), encoding="utf-8")
    costs = [
        LineCost("", ROTARY_LINE + 1, busy_us=21_000.0, waits=80, share=0.12),
        LineCost("", RETURN_LINE + 1, busy_us=123_000.0, share=0.61),
    ]
    write_capture(project, "20260101T000000Z-train", "model.py", costs)
    return path


async def opened(session: Editor, path: Path) -> str:
    """Open a file and wait until its capture is there too."""
    uri = session.open(path)
    await session.until(lambda: any("Measured" in found.message for found in session.shown(uri)))
    return uri


async def test_costs_stand_at_the_end_of_their_lines(project: Path, model: Path) -> None:
    async with editor(project, capabilities=HINTS) as session:
        assert session.capabilities.inlay_hint_provider
        uri = await opened(session, model)
        hints = await session.hints(uri, EVERYTHING)
        (last,) = await session.hints(uri, span(RETURN_LINE, 0, 10))
    assert [(hint.position.line, hint.label) for hint in hints] == [
        (ROTARY_LINE, "2.1 ms · 12% · 8 waits"),
        (RETURN_LINE, "12.3 ms · 61%"),
    ]
    line = model.read_text(encoding="utf-8").split("\n")[ROTARY_LINE]
    assert hints[0].position.character == len(line.encode("utf-16-le")) // 2
    assert hints[0].padding_left
    assert hints[0].tooltip == "a step, of 10 steps on NVIDIA H200, 20260101T000000Z-train"
    assert last.label == "12.3 ms · 61%"


@pytest.mark.parametrize("recorded", ["visual_studio_code", "neovim", "emacs"])
async def test_recorded_clients_get_hints(project: Path, model: Path, recorded: str) -> None:
    async with editor(project, capabilities=pytest_lsp.client_capabilities(recorded)) as session:
        hints = await session.hints(await opened(session, model), EVERYTHING)
    assert [hint.label for hint in hints] == ["2.1 ms · 12% · 8 waits", "12.3 ms · 61%"]


async def test_an_edited_line_says_that_its_cost_is_stale(project: Path, model: Path) -> None:
    async with editor(project, capabilities=HINTS) as session:
        uri = await opened(session, model)
        session.change(uri, 2, "2 * ", span(RETURN_LINE, 15, 15))
        session.change(uri, 3, "\n", span(0, 0, 0))
        kept, edited = await session.hints(uri, EVERYTHING)
    assert (kept.position.line, kept.label) == (ROTARY_LINE + 1, "2.1 ms · 12% · 8 waits")
    assert (edited.position.line, edited.label) == (RETURN_LINE + 1, "12.3 ms · 61% (stale)")
    assert edited.tooltip == "measured before this line was edited"


async def test_settings_apply_to_hints(project: Path, model: Path) -> None:
    capabilities = client_capabilities(refreshes_costs=True, configures=True)
    async with editor(project, capabilities=capabilities, settings={None: {}}) as session:
        uri = await opened(session, model)
        for settings, count in (({"minimumShare": 50}, 2), ({"minimumShare": 0}, 2), ({"inline": False}, 0)):
            asked = session.hint_refreshes
            session.configure({"costs": settings})
            await session.until(lambda: session.hint_refreshes > asked)  # noqa: B023
            assert len(await session.hints(uri, EVERYTHING)) == count


async def test_a_client_that_draws_is_not_offered_hints(project: Path, model: Path) -> None:
    async with editor(project, capabilities=HINTS, options={"draws": True}) as session:
        assert not session.capabilities.inlay_hint_provider
        uri = session.open(model)
        await session.until(lambda: session.drawn(uri) and session.drawn(uri).costs)
        assert session.lens_refreshes
        assert not session.hint_refreshes
