"""A captured file whose name is not UTF-8, as Linux allows: Python has its bytes as surrogates."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from building import MAIN, ROOT, CaptureBuilder

from warplint.profile.join import join
from warplint.profile.store import open_profile

NAME = b"bad\xff.py"
DECODED = "bad\udcff.py"
SOURCE = "import torch\nx = torch.ones(3)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = CaptureBuilder(SOURCE, steps=[0, 100], window=(0, 100), path=f"{ROOT}/{DECODED}")
    builder.lines = {MAIN: [(0, 1), (60, 2), (90, 0)]}
    builder.trace.kernel(10, 20, 50, 2)
    return builder.write(tmp_path / "20260101T000000Z-bad")


def warplint(folder: Path, *words: str | bytes) -> bytes:
    """Standard output of a command that must succeed."""
    command = [sys.executable, "-m", "warplint", *words]
    done = subprocess.run(
        command,
        cwd=folder.parent,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_it_is_stored_as_it_is(folder: Path) -> None:
    made = join(folder)
    assert set(made.sources) == {DECODED} == {cost.file for cost in made.lines}
    assert open_profile(folder).sources == made.sources
    # The second time it comes from the store.
    assert open_profile(folder).lines == made.lines


def test_a_note_that_names_it_is_stored(folder: Path) -> None:
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    note = f"{DECODED}:2 is not followed"
    (folder / "run.json").write_text(json.dumps({**manifest, "notes": [note]}), encoding="utf-8")
    open_profile(folder)
    assert note in open_profile(folder).notes


def test_text_has_the_bytes_of_its_name(folder: Path) -> None:
    assert NAME in warplint(folder, "show", "--capture", folder.name)
    assert NAME in warplint(folder, "show", "--capture", folder.name, NAME)
    assert NAME in warplint(folder, "diagnose", folder.name)


@pytest.mark.parametrize("kind", ["json", "perfetto", "speedscope"])
def test_json_escapes_what_is_no_text(folder: Path, kind: str) -> None:
    written = warplint(folder, "export", folder.name, "--format", kind)
    assert "bad\\udcff.py" in written.decode()
    json.loads(written)


def test_an_address_has_its_bytes_by_number(folder: Path) -> None:
    assert b"/bad%FF.py" in warplint(folder, "export", folder.name, "--format", "cpuprofile")
