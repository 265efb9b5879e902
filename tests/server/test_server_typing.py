"""Typing in a file that takes long to look at: it is looked at in pauses, and then of the newest text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsp_editor import Editor, span

from warplint.project.config import Config
from warplint.project.engine import Engine
from warplint.source.text import SourceText
from warplint_server.document import LONGEST_PAUSE_S, Document, Results
from warplint_server.settings import Settings
from warplint_server.workspace import Measured, Project


def looked_at_in(took_s: float) -> Document:
    """A document whose last results took so long."""
    document = Document("file:///a.py", Path("/a.py"), 1, "x = 1\n", Settings())
    project = Project(Path("/"), Engine(Path("/"), Config(Path("/"))))
    checked = project.engine.check(SourceText("x = 1\n", Path("/a.py")))
    document.results = Results(1, document.source, project, 0, checked, Measured(), None, took_s)
    return document


@pytest.mark.parametrize(("took_s", "pause_s"), [(0.0, 0.0), (0.05, 0.0), (0.2, 0.2), (5.0, LONGEST_PAUSE_S)])
def test_a_pause_is_waited_for_where_the_next_keystroke_would_come_first(
    took_s: float, pause_s: float
) -> None:
    assert looked_at_in(took_s).pause_s == pause_s


def test_a_document_without_results_is_looked_at_at_once() -> None:
    assert Document("file:///a.py", Path("/a.py"), 1, "x = 1\n", Settings()).pause_s == 0.0


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
