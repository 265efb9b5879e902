"""The pre-commit hook, installed from this checkout as a user's pre-commit would install it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine
from samples import CLEAN, SAFE

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def repository(warplint: CommandLine) -> CommandLine:
    """A user's repository with one file that has a finding, one clean, and one that is excluded."""
    warplint.write("net.py", SAFE)
    warplint.write("ok.py", CLEAN)
    warplint.write("third_party/net.py", SAFE)
    warplint.write("notes.txt", SAFE)
    warplint.write("pyproject.toml", "[tool.warplint]\nextend-exclude = ['third_party']\n")
    for arguments in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *arguments], cwd=warplint.folder, check=True)
    return warplint


def test_the_hook_reports_what_is_committed(
    repository: CommandLine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "warplint", "--all-files"],
        cwd=repository.folder,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "- exit code: 1" in done.stdout, done.stdout + done.stderr
    assert "--> net.py:7:17" in done.stdout
    assert "\nFound 1 finding.\n" in done.stdout
