"""Each measured function has a code lens that says what its own lines cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_captures import write_capture, write_recorded
from lsp_editor import Editor, client_capabilities, editor, span
from lsprotocol import types

from warplint.profile.model import IdleCause, LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROGRAM = """\
import torch


@torch.no_grad()
def train(model, data):
    def step(batch):
        loss = model(batch)
        return loss.item()

    for batch in data:
        step(batch)


def unmeasured():
    return 1


train(None, [])
"""
LINES = PROGRAM.split("\n")
TRAIN, STEP, LOSS = (LINES.index(line) for line in (
    "def train(model, data):", "    def step(batch):", "        loss = model(batch)"
))  # fmt: skip
# Ten steps, as ``write_capture`` has them.
COSTS = {
    "        loss = model(batch)": LineCost("", 0, busy_us=100_000.0, share=0.2),
    "        return loss.item()": LineCost(
        "", 0, idle_us={IdleCause.SYNC: 23_000.0}, waits=80, cpu_us=1_000.0, share=0.25
    ),
    "    for batch in data:": LineCost("", 0, idle_us={IdleCause.DATA: 5_000.0}, waits=10, share=0.01),
    "train(None, [])": LineCost("", 0, idle_us={IdleCause.HOST: 70_000.0}, share=0.14),
}
ON_STEP = "12.3 ms a step · 45% · 8 waits"
ON_TRAIN = "500 µs a step · 1.0% · 1 wait"


def write_costs(project: Path, name: str = "20260101T000000Z-train", device: str = "NVIDIA H200") -> Path:
    path = project / "train.py"
    path.write_text(PROGRAM)
    for line, cost in COSTS.items():
        cost.line = LINES.index(line) + 1
    write_capture(project, name, "train.py", list(COSTS.values()), device)
    return path


async def opened(session: Editor, path: Path) -> str:
    """Open a file and wait until its project's capture is there."""
    uri = session.open(path)
    await session.until(lambda: session.lens_refreshes)
    return uri


LENSES = client_capabilities(refreshes_costs=True)


async def test_a_function_s_own_lines_are_summed(project: Path) -> None:
    path = write_costs(project)
    async with editor(project, capabilities=LENSES) as session:
        lenses = await session.lenses(await opened(session, path))
    assert lenses == [(TRAIN, ON_TRAIN), (STEP, ON_STEP)]


async def test_lenses_follow_their_function_through_edits(project: Path) -> None:
    path = write_costs(project)
    async with editor(project, capabilities=LENSES) as session:
        uri = await opened(session, path)
        session.change(uri, 2, "# a line more\n", span(0, 0, 0))
        assert await session.lenses(uri) == [(TRAIN + 1, ON_TRAIN), (STEP + 1, ON_STEP)]
        session.change(uri, 3, "    half = torch.ones(\n", span(TRAIN + 2, 0, 0))
        assert await session.lenses(uri) == [(TRAIN + 1, ON_TRAIN), (STEP + 2, ON_STEP)]
        session.change(uri, 4, "2 * ", span(LOSS + 2, 15, 15))
        stale = f"{ON_STEP} (stale)"
        assert await session.lenses(uri) == [(TRAIN + 1, ON_TRAIN), (STEP + 2, stale)]


async def test_without_a_gpu_the_time_is_the_cpu_s(project: Path) -> None:
    path = write_costs(project, device="cpu")
    async with editor(project, capabilities=LENSES) as session:
        lenses = await session.lenses(await opened(session, path))
    assert (STEP, "100 µs CPU a step · 45% · 8 waits") in lenses


async def test_a_new_capture_asks_for_lenses_again(project: Path) -> None:
    path = write_costs(project)
    async with editor(project, capabilities=LENSES) as session:
        await opened(session, path)
        asked = session.lens_refreshes, session.hint_refreshes
        write_capture(project, "20260102T000000Z-train", "train.py", [LineCost("", STEP + 2, share=0.5)])
        await session.until(lambda: session.lens_refreshes > asked[0] and session.hint_refreshes > asked[1])
        assert await session.lenses(path.as_uri()) == [(STEP, "50%")]


async def test_lenses_can_be_turned_off(project: Path) -> None:
    path = write_costs(project)
    capabilities = client_capabilities(refreshes_costs=True, configures=True)
    async with editor(project, capabilities=capabilities, settings={None: {}}) as session:
        uri = await opened(session, path)
        asked = session.lens_refreshes
        session.configure({"costs": {"codeLens": False}})
        await session.until(lambda: session.lens_refreshes > asked)
        assert not await session.lenses(uri)


async def test_functions_of_a_recorded_capture(project: Path) -> None:
    path = write_recorded(project)
    async with editor(project, capabilities=LENSES) as session:
        uri = await opened(session, path)
        lenses = await session.lenses(uri)
        hints = await session.hints(uri, whole(path))
    lines = path.read_text().split("\n")
    assert all(lines[line].lstrip().startswith("def ") for line, _ in lenses)
    named = {lines[line].strip().partition("(")[0] for line, _ in lenses}
    assert {"def forward", "def __getitem__"} <= named
    placed = {lines[hint.position.line].strip(): hint.label for hint in hints}
    # Three position indices, each copied once a step, and each copy waited for.
    assert str(placed["z = torch.arange(depth).to(x.device)"]).endswith(" · 1 wait")


def whole(path: Path) -> types.Range:
    return types.Range(types.Position(0, 0), types.Position(len(path.read_text().split("\n")), 0))
