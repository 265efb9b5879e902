from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsp_editor import Editor, editor


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project: a folder with a pyproject.toml."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text("")
    return root


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session() -> AsyncIterator[Editor]:
    """A server that tests share whose projects are all it has to know of: starting one takes a second."""
    async with editor() as shared:
        yield shared
