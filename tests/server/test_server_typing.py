"""Typing in a file that takes long to look at: it is looked at in pauses, and then of the newest text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsp_editor import Editor, span

from warplint_server.document import LONGEST_PAUSE_S, Document
from warplint_server.settings import Settings


@pytest.mark.parametrize(
    ("looks_s", "pause_s"),
    [
        ((0.0, 0.0), 0.0),
        ((0.05, 0.05), 0.0),
        ((0.3, 0.2), 0.2),
        ((5.0, 5.0), LONGEST_PAUSE_S),
        ((0.01, 5.0), 0.0),
        ((5.0, 0.01), 0.0),
    ],
)
def test_a_pause_is_waited_for_where_the_next_keystroke_would_come_first(
    looks_s: tuple[float, float], pause_s: float
) -> None:
    document = Document("file:///a.py", Path("/a.py"), 1, "x = 1\n", Settings())
    assert document.pause_s == 0.0
    document.looks_s = looks_s
    assert document.pause_s == pause_s


CLASS = """
class Net{n}(torch.nn.Module):
    def __init__(self):
        self.table = torch.nn.Embedding(8, 8)

    def forward(self, x):
        return self.table(torch.arange(8)) + x
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_after_a_burst_of_keystrokes_the_newest_text_is_looked_at(
    session: Editor, project: Path
) -> None:
    path = project / "large.py"
    path.write_text("import torch\n" + "".join(CLASS.format(n=n) for n in range(500)))
    uri = session.open(path)
    assert len(await session.diagnostics(uri)) == 500
    typed = "torch.zeros(3)\n"
    for number, letter in enumerate(typed):
        session.change(uri, number + 2, letter, span(1, number, number))
        await asyncio.sleep(0.03)
    shown = await session.diagnostics(uri, len(typed) + 1)
    assert len(shown) == 500
    assert min(diagnostic.range.start.line for diagnostic in shown) == 8
