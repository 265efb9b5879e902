"""Hovering shows what a line cost and why a finding matters."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_captures import write_capture
from lsp_editor import Editor, client_capabilities, editor, span
from lsp_samples import ROTARY, ROTARY_LINE
from lsprotocol import types

from warplint.profile.model import IdleCause, KernelCost, LineCost

pytestmark = pytest.mark.asyncio(loop_scope="session")

STEPS = 10
MULTIPLY_LINE = ROTARY_LINE + 1
COSTS = [
    LineCost(
        "",
        ROTARY_LINE + 1,
        copies=10,
        copy_bytes=640_000,
        waits=10,
        wait_us=25_000.0,
        idle_us={IdleCause.COPY: 123_000.0},
        cpu_us=150_000.0,
        share=0.123,
    ),
    LineCost(
        "",
        MULTIPLY_LINE + 1,
        busy_us=31_400.0,
        gpu_forward_us=20_000.0,
        gpu_backward_us=12_000.0,
        launches=25,
        share=0.0314,
        kernels=[KernelCost("void mul<float, 4>(float*) | `x`", 20_000.0, 10)],
    ),
]


TITLE = "a step, of 10 steps on NVIDIA H200, 20260101T000000Z-train"


def rows(table: str) -> dict[str, str]:
    """The rows of a Markdown table: first cell to second."""
    cells = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {label.strip(): value.strip() for label, value in cells}


@pytest.fixture
def model(project: Path) -> Path:
    """A file with a capture of it."""
    path = project / "model.py"
    path.write_text(ROTARY)
    write_capture(project, "20260101T000000Z-train", "model.py", COSTS)
    return path


async def opened(session: Editor, path: Path) -> str:
    """Open a file and wait until its capture is there too."""
    uri = session.open(path)
    await session.until(lambda: any("Measured" in found.message for found in session.shown(uri)))
    return uri


async def test_a_line_s_costs_are_a_table_of_what_is_not_zero(
    project: Path, model: Path, session: Editor
) -> None:
    text = await session.hover(await opened(session, model), MULTIPLY_LINE, 12)
    assert text is not None
    assert rows(text) == {
        TITLE: "this line",
        "share of the captured time": "3.1%",
        "GPU busy": "3.14 ms",
        "forward": "2.00 ms",
        "backward": "1.20 ms",
        "launches": "2.5",
        "`void mul<float, 4>(float*) \\|  x `": "2.00 ms in 1",
    }


async def test_a_finding_on_a_measured_line_shows_costs_and_reason(
    project: Path, model: Path, session: Editor
) -> None:
    text = await session.hover(await opened(session, model), ROTARY_LINE, 20)
    assert text is not None
    costs, reason, found, score = text.split("\n\n---\n\n")
    assert rows(costs) == {
        TITLE: "this line",
        "share of the captured time": "12%",
        "GPU idle during a copy": "12.30 ms",
        "host": "15.00 ms",
        "copies": "1",
        "copied": "64.00 kB",
        "waits for the GPU": "1",
        "waited": "2.50 ms",
    }
    assert reason.startswith("**WL101 host-tensor-in-hot-code** (not judged)\n\n")
    assert "pageable" in reason
    assert found.startswith(
        "**WL051 measured-wait** (found by measuring alone)\n\nCosts 12.3 ms of a 100 ms step"
    )
    # The finding is likely and its risk high; two points are taken for each percent that was measured.
    assert rows(score) == {
        "GPU-friendliness of this file": "30",
        "WL051 measured-wait, loses 12.3% of a step": "−25",
        "WL101 host-tensor-in-hot-code, likely": "−20",
        "everything else": "+75",
    }


async def test_the_reason_is_shown_over_the_finding_alone(project: Path, session: Editor) -> None:
    uri = session.open(project / "model.py", ROTARY)
    over = await session.hover(uri, ROTARY_LINE, 20)
    beside = await session.hover(uri, ROTARY_LINE, 9)
    assert over is not None
    assert over.startswith("**WL101 ")
    assert "##" not in over
    assert beside is None


async def test_a_line_with_neither_shows_nothing(project: Path, model: Path, session: Editor) -> None:
    uri = await opened(session, model)
    assert await session.hover(uri, 0, 3) is None
    assert await session.hover(uri, 4000, 3) is None


async def test_costs_follow_their_line_and_are_stale_once_it_is_edited(
    project: Path, model: Path, session: Editor
) -> None:
    uri = await opened(session, model)
    session.change(uri, 2, "# a line more\n", span(0, 0, 0))
    moved = await session.hover(uri, MULTIPLY_LINE + 1, 12)
    assert moved is not None
    assert "before this line was edited" not in moved
    assert await session.hover(uri, MULTIPLY_LINE, 9) is not None
    session.change(uri, 3, "2 * ", span(MULTIPLY_LINE + 1, 15, 15))
    edited = await session.hover(uri, MULTIPLY_LINE + 1, 12)
    assert edited is not None
    assert edited.startswith("*measured before this line was edited*")
    assert rows(edited)["GPU busy"] == "3.14 ms"


async def test_a_finding_s_message_has_its_share_until_the_line_is_edited(
    project: Path, model: Path, session: Editor
) -> None:
    uri = await opened(session, model)
    assert session.shown(uri)[0].message.endswith("\nMeasured: 12% of the captured time.")
    session.change(uri, 2, " ", span(ROTARY_LINE, 13, 13))
    (found,) = await session.diagnostics(uri, 2)
    assert "Measured" not in found.message


async def test_names_in_a_capture_are_text_and_nothing_else(project: Path, session: Editor) -> None:
    path = project / "model.py"
    path.write_text(ROTARY)
    kernels = [KernelCost("a\n\n![b](https://example.org/c.png)", 20_000.0, 10)]
    costs = [LineCost("", MULTIPLY_LINE + 1, share=0.0314, kernels=kernels), *COSTS[:1]]
    device = "![d](https://example.org/e.png) | _f_\n# g"
    write_capture(project, "20260101T000000Z-train", "model.py", costs, device)
    text = await session.hover(await opened(session, path), MULTIPLY_LINE, 12)
    assert text is not None
    assert text.splitlines() == [
        r"| a step, of 10 steps on \!\[d\](https://example.org/e.png) \| \_f\_ # g,"
        " 20260101T000000Z-train | this line |",
        "|:--|--:|",
        "| share of the captured time | 3.1% |",
        "| `a  ![b](https://example.org/c.png)` | 2.00 ms in 1 |",
    ]


async def test_a_client_without_markdown_gets_plain_text(project: Path, model: Path) -> None:
    plain = client_capabilities(formats=[types.MarkupKind.PlainText])
    async with editor(project, capabilities=plain) as session:
        uri = await opened(session, model)
        text = await session.hover(uri, MULTIPLY_LINE, 12)
        finding = await session.hover(uri, ROTARY_LINE, 20)
    assert text is not None
    assert text.splitlines()[:3] == [TITLE, "  share of the captured time: 3.1%", "  GPU busy: 3.14 ms"]
    assert finding is not None
    assert finding.splitlines()[-4:] == [
        "GPU-friendliness of this file: 30",
        "  WL051 measured-wait, loses 12.3% of a step: −25",
        "  WL101 host-tensor-in-hot-code, likely: −20",
        "  everything else: +75",
    ]
