"""Output that cannot be written: on a full disk said in a sentence, closed by who asked for none left out."""

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


@pytest.mark.parametrize(("words", "status"), [("check", 1), ("score", 0), ("rule WL101", 0), ("config", 0)])
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&- <&-"])
def test_closed_streams_get_nothing(words: str, status: int, closed: str, warplint: CommandLine) -> None:
    path = warplint.write("program.py", "import torch\n\nx = (\n")
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m warplint {words} {closed}', sys.executable],
        cwd=warplint.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (status, "")
    assert "error" not in done.stderr
    assert path.read_text(encoding="utf-8") == "import torch\n\nx = (\n"
