"""A client that draws costs and score itself is sent what to draw."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from lsp_captures import write_capture
from lsp_editor import Editor, editor, span
from lsp_samples import ROTARY, ROTARY_LINE

from warplint.profile.model import IdleCause, LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

DRAWS = {"draws": True}
RETURN_LINE = ROTARY_LINE + 1
# Ten steps of 100 ms, as ``write_capture`` has them.
COSTS = [
    LineCost(
        "",
        ROTARY_LINE + 1,
        busy_us=1_000.0,
        idle_us={IdleCause.COPY: 20_000.0},
        waits=80,
        cpu_us=90_000.0,
        share=0.021,
    ),
    LineCost("", RETURN_LINE + 1, busy_us=123_000.0, share=0.123),
    LineCost("", ROTARY_LINE, busy_us=9_000.0, share=0.009),
]


@pytest.fixture
def model(project: Path) -> Path:
    path = project / "model.py"
    path.write_text(ROTARY)
    return path


async def costs(session: Editor, uri: str) -> None:
    await session.until(lambda: session.drawn(uri) and session.drawn(uri).costs)


async def test_what_a_line_cost_is_sent_on_opening(project: Path, model: Path) -> None:
    write_capture(project, "20260101T000000Z-train", "model.py", COSTS)
    async with editor(project, options=DRAWS) as session:
        uri = session.open(model)
        await costs(session, uri)
        state = session.drawn(uri)
    assert (state.uri, state.version) == (uri, 1)
    assert [(cost.line, cost.text, cost.stale) for cost in state.costs] == [
        (ROTARY_LINE, "2.1 ms · 2.1% · 8 waits", False),
        (RETURN_LINE, "12.3 ms · 12%", False),
    ]
    assert [cost.share for cost in state.costs] == [0.021, 0.123]
    assert (state.capture.name, state.capture.device, state.capture.steps) == (
        "20260101T000000Z-train",
        "NVIDIA H200",
        10,
    )


async def test_the_score_is_sent_with_its_parts(project: Path, model: Path) -> None:
    async with editor(project, options=DRAWS) as session:
        uri, plain = session.open(model), session.open(project / "plain.py", "x = 1\n")
        await session.until(lambda: session.drawn(uri) and session.drawn(plain))
        score = session.drawn(uri).score
        assert session.drawn(plain).score is None
    bands = {"red": range(31), "yellow": range(31, 71), "green": range(71, 101)}
    assert score.value in bands[score.band]
    assert score.value == sum(part.points for part in score.parts)
    assert score.summary
    # The finding's line, from 0 as everywhere in the protocol.
    assert ROTARY_LINE in [part.line for part in score.parts]


async def test_other_clients_are_sent_no_states(project: Path, model: Path) -> None:
    async with editor(project) as session:
        await session.diagnostics(session.open(model))
    assert not session.states


async def test_costs_move_with_their_lines_and_are_stale_where_edited(project: Path, model: Path) -> None:
    write_capture(project, "20260101T000000Z-train", "model.py", COSTS)
    async with editor(project, options=DRAWS) as session:
        uri = session.open(model)
        await costs(session, uri)
        session.change(uri, 2, "# a line more\n", span(0, 0, 0))
        session.change(uri, 3, "2 * ", span(RETURN_LINE + 1, 15, 15))
        await session.until(lambda: session.drawn(uri).version == 3)
        state = session.drawn(uri)
    assert [(cost.line, cost.stale) for cost in state.costs] == [
        (ROTARY_LINE + 1, False),
        (RETURN_LINE + 1, True),
    ]


async def test_typing_is_answered_once_it_pauses(project: Path, model: Path) -> None:
    async with editor(project, options=DRAWS) as session:
        uri = session.open(model)
        await session.until(lambda: session.drawn(uri))
        for version in range(2, 12):
            session.change(uri, version, "\n", span(0, 0, 0))
            await asyncio.sleep(0.02)
        typed = time.monotonic()
        await session.until(lambda: session.drawn(uri).version == 11)
        waited_s = time.monotonic() - typed
    assert waited_s > 0.1
    # One for the opening, one for the end; the rest is for pauses of a machine that is busy.
    assert len(session.states) <= 5


async def test_costs_are_left_open_until_captures_have_been_looked_for(project: Path, model: Path) -> None:
    """A client that has drawn costs, of a server before this one, is not told that there are none."""
    write_capture(project, "20260101T000000Z-train", "model.py", COSTS)
    async with editor(project, options=DRAWS) as session:
        uri = session.open(model)
        await costs(session, uri)
        assert all(state.costs is None for state in session.states[:-1])


async def test_where_there_is_no_capture_there_are_no_costs(project: Path, model: Path) -> None:
    async with editor(project, options=DRAWS) as session:
        uri = session.open(model)
        await session.until(lambda: session.drawn(uri) and session.drawn(uri).costs is not None)
        assert session.drawn(uri).costs == []


async def test_a_new_capture_reaches_every_open_document(project: Path, model: Path) -> None:
    other = project / "other.py"
    other.write_text("x = 1\n")
    async with editor(project, options=DRAWS) as session:
        uris = [session.open(model), session.open(other)]
        await session.until(lambda: all(session.drawn(uri) for uri in uris))
        assert not any(session.drawn(uri).capture for uri in uris)
        write_capture(project, "20260101T000000Z-train", "model.py", COSTS)
        await session.until(lambda: all(session.drawn(uri).capture for uri in uris))
        assert [len(session.drawn(uri).costs) for uri in uris] == [2, 0]


async def test_a_closed_document_is_sent_nothing_more(project: Path, model: Path) -> None:
    async with editor(project, options=DRAWS) as session:
        uri = session.open(model)
        await session.until(lambda: session.drawn(uri))
        session.change(uri, 2, "\n", span(0, 0, 0))
        await session.diagnostics(uri, 2)
        session.close(uri)
        other = session.open(project / "other.py", "x = 1\n")
        await session.until(lambda: session.drawn(other))
        await asyncio.sleep(0.3)
        assert session.drawn(uri).version == 1
