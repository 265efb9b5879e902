"""What `make test` says of a disk that is too small for it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

FREE_SPACE = Path(__file__).resolve().parents[1] / ".ci" / "free-space"


@pytest.mark.parametrize(("needed_gb", "returncode"), [(0, 0), (10_000_000, 1)])
def test_a_disk_that_is_too_small_is_said_in_one_sentence(needed_gb: int, returncode: int) -> None:
    done = subprocess.run(
        [FREE_SPACE, str(needed_gb)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (returncode, "")
    said = r"free-space: this needs [\d.]+ GB more of disk in \S+, and [\d.]+ GB are free\n"
    assert re.fullmatch(said if returncode else "", done.stderr)
