"""What is said of a document follows the files that it imports, as they are in the editor and on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_editor import Editor, span

TRAIN = """\
import torch
from helpers import place


def train(model, loader, optimizer):
    for batch in loader:
        loss = place(model(batch)).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
KEEPS = "def place(x):\n    return x\n"
TAKES = "def place(x):\n    return x.cpu()\n"


async def codes(session: Editor, uri: str, expected: list[str]) -> None:
    """Wait until exactly these codes are the last that was said of a document."""

    def last() -> list[object]:
        return [diagnostic.code for diagnostic in session.shown(uri)]

    await session.until(lambda: session.of(uri) and last() == expected)


@pytest.mark.asyncio(loop_scope="session")
async def test_an_open_file_counts_as_it_is_in_the_editor(session: Editor, project: Path) -> None:
    (project / "train.py").write_text(TRAIN)
    (project / "helpers.py").write_text(TAKES)
    train = session.open(project / "train.py")
    await codes(session, train, [])
    helpers = session.open(project / "helpers.py")
    await codes(session, helpers, [])
    session.change(helpers, 2, "", span(1, 12, 18))
    await codes(session, train, ["WL201"])
    session.close(helpers)
    await codes(session, train, [])


@pytest.mark.asyncio(loop_scope="session")
async def test_a_file_that_is_not_open_counts_as_it_is_on_the_disk(session: Editor, project: Path) -> None:
    (project / "train.py").write_text(TRAIN)
    (project / "helpers.py").write_text(TAKES)
    train = session.open(project / "train.py")
    await codes(session, train, [])
    (project / "helpers.py").write_text(KEEPS)
    await codes(session, train, ["WL201"])
    (project / "helpers").mkdir()
    (project / "helpers" / "__init__.py").write_text(TAKES)
    await codes(session, train, [])
