"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine


@pytest.fixture
def warplint(tmp_path: Path) -> CommandLine:
    """The command line in a folder of its own."""
    return CommandLine(tmp_path)
