"""The store beside a capture: made once, never in the way of what is not ours."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from building import MAIN, CaptureBuilder

from warplint.capture.layout import STORE, LayoutError, RunManifest, raw_name, trace_name
from warplint.profile.database import Owner, owner_of
from warplint.profile.join import join
from warplint.profile.schema import SCHEMA_VERSION
from warplint.profile.store import open_profile

SOURCE = "a = 1\nb = '\u00e4'\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = CaptureBuilder(SOURCE, steps=[0, 100], window=(0, 100))
    builder.lines = {MAIN: [(0, 1), (60, 2), (90, 0)]}
    builder.trace.call("cudaMemcpyAsync", 5, 6, 1)
    builder.trace.work("Memcpy HtoD (Pageable -> Device)", 6, 9, 1, size=64)
    builder.trace.kernel(10, 20, 50, 2)
    builder.trace.kernel(61, 62, 65, 3, name="other")
    return builder.write(tmp_path / "20260101T000000-train")


def test_what_is_read_back_is_what_was_joined(folder: Path) -> None:
    made = join(folder)
    assert open_profile(folder) == made
    assert owner_of(folder / STORE) is Owner.OURS
    assert open_profile(folder) == made
    assert made.name == folder.name


def test_one_plain_file_is_left(folder: Path) -> None:
    before = {entry.name for entry in folder.iterdir()}
    open_profile(folder)
    assert {entry.name for entry in folder.iterdir()} - before == {STORE}


def test_raw_files_are_not_needed_any_more(folder: Path) -> None:
    made = open_profile(folder)
    (folder / raw_name(0, 1)).unlink()
    (folder / trace_name(0, 1, 0)).unlink()
    assert open_profile(folder) == made


def test_store_is_made_anew_when_the_raw_files_have_grown(folder: Path) -> None:
    open_profile(folder)
    with (folder / raw_name(0, 1)).open("ab") as stream:
        stream.write(b"cut")
    RunManifest(["python"], "/app", "/app", 0.0, "0.1.0", notes=["said since"]).write(folder)
    assert "said since" in open_profile(folder).notes


def test_damaged_store_of_ours_is_made_anew(folder: Path) -> None:
    made = open_profile(folder)
    path = folder / STORE
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)
    assert open_profile(folder) == made
    assert open_profile(folder) == made


@pytest.mark.parametrize("statement", ["DELETE FROM total WHERE name = 'steps'", "DROP TABLE idle"])
def test_incomplete_store_of_ours_is_made_anew(statement: str, folder: Path) -> None:
    made = open_profile(folder)
    with closing(sqlite3.connect(folder / STORE)) as connection, connection:
        connection.execute(statement)
    assert open_profile(folder) == made


def test_store_of_an_older_release_is_made_anew(folder: Path) -> None:
    made = open_profile(folder)
    with closing(sqlite3.connect(folder / STORE)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    assert open_profile(folder) == made
    assert owner_of(folder / STORE) is Owner.OURS


def test_store_of_a_newer_release_is_left_alone(folder: Path) -> None:
    made = open_profile(folder)
    with closing(sqlite3.connect(folder / STORE)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    content = (folder / STORE).read_bytes()
    profile = open_profile(folder)
    assert profile.lines == made.lines
    assert any("newer Warplint" in note for note in profile.notes)
    assert (folder / STORE).read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"my notes", b"SQLite format 3\0" + bytes(200)])
def test_foreign_file_in_its_place_is_left_alone(content: bytes, folder: Path) -> None:
    (folder / STORE).write_bytes(content)
    profile = open_profile(folder)
    assert profile.totals.gpu_busy_us == 36
    assert any("something else" in note for note in profile.notes)
    assert (folder / STORE).read_bytes() == content


def test_a_foreign_database_is_left_alone(folder: Path) -> None:
    with closing(sqlite3.connect(folder / STORE)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
    assert open_profile(folder).totals.gpu_busy_us == 36
    with closing(sqlite3.connect(folder / STORE)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


@contextmanager
def disk_full_after(size: int) -> Iterator[None]:
    """No file grows beyond ``size`` bytes: writes fail as they do on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_costs_the_store_and_not_the_profile(folder: Path) -> None:
    before = {entry.name for entry in folder.iterdir()}
    with disk_full_after(5000):
        profile = open_profile(folder)
    assert profile.totals.gpu_busy_us == 36
    assert any("could not be stored" in note for note in profile.notes)
    assert {entry.name for entry in folder.iterdir()} == before
    assert not any("could not be stored" in note for note in open_profile(folder).notes)


def test_folder_that_cannot_be_written_is_joined_in_memory(folder: Path) -> None:
    """A process without our rights stands for a read-only mount, which a test cannot make."""
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from warplint.profile.store import open_profile\n"
        "os.getuid() == 0 and os.setuid(65534)\n"
        "profile = open_profile(Path())\n"
        "print(profile.totals.gpu_busy_us, any('could not be stored' in note for note in profile.notes))\n"
    )
    folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    folder.chmod(0o755)
    assert done.stdout.split() == ["36.0", "True"]
    assert not (folder / STORE).exists()


def test_part_of_a_killed_join_is_cleared_away(folder: Path) -> None:
    (folder / f"{STORE}.4711.part").write_bytes(b"half")
    open_profile(folder)
    assert not list(folder.glob("*.part"))


def test_several_that_open_at_once_get_the_same(folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from warplint.profile.store import open_profile\n"
        "print(open_profile(Path(sys.argv[1])).totals.gpu_busy_us)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in started] == ["36.0"] * 4
    assert not list(folder.glob("*.part"))


def test_no_capture(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="not a capture"):
        open_profile(tmp_path)


def test_joining_needs_the_standard_library_alone(folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from warplint.profile.store import open_profile\n"
        "open_profile(Path(sys.argv[1]))\n"
        "print(sorted({'torch', 'numpy', 'rich', 'libcst', 'pygls'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
