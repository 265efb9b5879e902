"""Output that cannot be written, as on a full disk: said in a sentence, with exit status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine

REASON = "No space left on device"


@pytest.mark.parametrize("words", [["check"], ["score"], ["rule"], ["rule", "WL101"], ["config"]])
def test_standard_output_that_is_full_is_said(words: list[str], warplint: CommandLine) -> None:
    warplint.write("program.py", "import torch\n\nx = torch.zeros(3).sum()\n")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "warplint", *words],
            cwd=warplint.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    said = f"warplint: error: standard output cannot be written: {REASON}\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_an_output_file_that_is_full_is_said(warplint: CommandLine) -> None:
    warplint.write("program.py", "x = 1\n")
    done = warplint("check", "--output-file", "/dev/full")
    said = f"warplint: error: /dev/full cannot be written: {REASON}\n"
    assert (done.returncode, done.stderr) == (2, said)
