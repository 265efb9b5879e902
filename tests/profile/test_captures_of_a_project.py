"""Finding a project's captures."""

from __future__ import annotations

from pathlib import Path

from warplint.project.captures import captures


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
