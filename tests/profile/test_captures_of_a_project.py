"""Finding a project's captures."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import MAIN, CaptureBuilder

from warplint.capture.layout import LayoutError, RawWriter, Record, RunManifest, raw_name
from warplint.profile import store
from warplint.profile.store import captured_sizes
from warplint.project.captures import captures
from warplint.project.newest import NewestProfile


def test_newest_first_and_only_captures(tmp_path: Path) -> None:
    assert captures(tmp_path) == []
    home = tmp_path / ".warplint"
    for name in ("20260102T000000Z-b", "20260103T000000Z-a", "20251231T235959Z-c"):
        (home / name).mkdir(parents=True)
        (home / name / "run.json").write_text("{}")
    (home / "20270101T000000Z-empty").mkdir()
    (home / "note.txt").write_text("")
    assert [folder.name for folder in captures(tmp_path)] == [
        "20260103T000000Z-a",
        "20260102T000000Z-b",
        "20251231T235959Z-c",
    ]


def test_captures_of_one_second_are_ordered_by_when_they_began(tmp_path: Path) -> None:
    home, second = tmp_path / ".warplint", "20260102T000000Z"
    began = {f"{second}-b": 0.1, f"{second}-a": 0.9, f"{second}-a-10": 0.7, f"{second}-a-9": 0.5}
    for name, started in began.items():
        (home / name).mkdir(parents=True)
        RunManifest(["python"], "/app", "/app", started, "0.1.0").write(home / name)
    # One that cannot be read counts as the oldest of its second.
    for name in (f"{second}-z", "20260101T000000Z-z"):
        (home / name).mkdir()
        (home / name / "run.json").write_text("{}")
    assert [folder.name for folder in captures(tmp_path)] == [
        f"{second}-a",
        f"{second}-a-10",
        f"{second}-a-9",
        f"{second}-b",
        f"{second}-z",
        "20260101T000000Z-z",
    ]


def note_record(scratch: Path, text: str) -> bytes:
    """A NOTE as it stands in a raw file."""
    writer = RawWriter(scratch / "note")
    header = writer.path.stat().st_size
    writer.write_json(Record.NOTE, {"level": "info", "code": "test", "text": text})
    writer.close()
    return writer.path.read_bytes()[header:]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = CaptureBuilder("a = 1\n", steps=[0, 100], window=(0, 100))
    builder.lines = {MAIN: [(0, 1)]}
    return builder.write(tmp_path / ".warplint" / "20260101T000000Z-train")


def test_a_capture_that_is_still_written_is_opened_again(folder: Path, tmp_path: Path) -> None:
    newest = NewestProfile(tmp_path)
    first = newest.get()
    assert first is not None
    assert newest.get() is first
    # Appending in place leaves the folder's own time as it was.
    with (folder / raw_name(0, 1)).open("ab") as stream:
        stream.write(note_record(tmp_path, "said since"))
    second = newest.get()
    assert second is not None
    assert "said since" in second.notes


def test_what_is_written_while_a_capture_is_opened_is_not_missed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = store.open_profile

    def open_slowly(capture: Path) -> object:
        profile = opened(capture)
        RunManifest(["python"], "/app", "/app", 0.0, "0.1.0", finished=1.0, notes=["ended"]).write(capture)
        return profile

    newest = NewestProfile(tmp_path)
    monkeypatch.setattr(store, "open_profile", open_slowly)
    newest.get()
    monkeypatch.undo()
    profile = newest.get()
    assert profile is not None
    assert "ended" in profile.notes


def test_a_folder_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="cannot be read"):
        captured_sizes(tmp_path / "pruned")


def write_empty(root: Path, name: str) -> None:
    """A run of which nothing is measured yet."""
    CaptureBuilder("a = 1\n", steps=[], window=(0, 100)).write(root / ".warplint" / name)


def test_the_newest_is_the_newest_that_measured_something(folder: Path, tmp_path: Path) -> None:
    newest = NewestProfile(tmp_path)
    for name in ("20260102T000000Z-begun", "20260103T000000Z-begun"):
        write_empty(tmp_path, name)
    profile = newest.get()
    assert profile is not None
    assert profile.name == folder.name
    assert newest.get() is profile
    assert newest.passed_over == ()


def test_what_cannot_be_read_is_passed_over_and_named(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / ".warplint" / "20260104T000000Z-damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    newest = NewestProfile(tmp_path)
    profile = newest.get()
    assert profile is not None
    assert profile.name == folder.name
    (problem,) = newest.passed_over
    assert damaged.name in str(problem)


def test_a_run_that_has_only_begun_is_no_capture_that_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    begun = tmp_path / ".warplint" / "20260201T000000Z-begun"
    begun.mkdir()
    RunManifest(["python"], "/app", "/app", 0.0, "0.1.0").write(begun)
    newest = NewestProfile(tmp_path)
    profile = newest.get()
    assert profile is not None
    assert profile.name == folder.name
    assert newest.passed_over == ()


def test_where_nothing_was_measured_the_newest_is_the_newest(tmp_path: Path) -> None:
    for name in ("20260101T000000Z-begun", "20260102T000000Z-begun"):
        write_empty(tmp_path, name)
    profile = NewestProfile(tmp_path).get()
    assert profile is not None
    assert (profile.name, profile.lines) == ("20260102T000000Z-begun", [])
