"""A small file is checked, and the version told, before much else is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COSTLY = ("dataclasses", "inspect", "multiprocessing", "libcst", "difflib", "json", "pygls", "msgspec")
CHECK = f"""
import sys
from warplint.__main__ import main
main(["check", "--no-cache", sys.argv[1]])
knowledge = "warplint.static.inference.knowledge"
print([name for name in {COSTLY} if name in sys.modules], knowledge in sys.modules)
"""


@pytest.mark.parametrize(
    ("text", "needs_engine"), [("x = 1\n", False), ("import torch\n\nx = torch.zeros(3).sum()\n", True)]
)
def test_what_a_small_file_needs(tmp_path: Path, text: str, needs_engine: bool) -> None:
    file = tmp_path / "small.py"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CHECK, file], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == f"[] {needs_engine}"


def test_the_version_needs_no_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "warplint", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("warplint ")
    assert "warplint.commands\n" in done.stderr
    assert "warplint.commands." not in done.stderr
