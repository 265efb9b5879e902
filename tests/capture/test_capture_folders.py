"""Where captures are kept, and which are thrown away."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from warplint.capture.folder import KEPT, in_use, new_capture_folder, prune
from warplint.capture.layout import CAPTURES_DIRECTORY, RunManifest


def make_captures(root: Path, count: int) -> list[Path]:
    folders = []
    for number in range(count):
        folder = root / CAPTURES_DIRECTORY / f"20260101T0000{number:02}Z-train"
        folder.mkdir(parents=True)
        RunManifest(["train.py"], "/", "/", 0.0, "0").write(folder)
        folders.append(folder)
    return folders


def test_a_folder_is_named_by_time_and_program(tmp_path: Path) -> None:
    folder = new_capture_folder(tmp_path, "train")
    assert folder.parent == tmp_path / CAPTURES_DIRECTORY
    moment, _, name = folder.name.partition("-")
    assert time.strptime(moment, "%Y%m%dT%H%M%SZ")
    assert name == "train"


def test_two_captures_of_one_second_have_two_folders(tmp_path: Path) -> None:
    assert len({new_capture_folder(tmp_path, "train") for _ in range(3)}) == 3


@pytest.mark.parametrize(
    ("name", "safe"), [("../x", "x"), ("a b/c", "a-b-c"), ("...", "run"), ("größe", "größe")]
)
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str, safe: str) -> None:
    assert new_capture_folder(tmp_path, name).name.partition("-")[2] == safe


def test_git_sees_nothing_of_a_capture(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (new_capture_folder(tmp_path, "train") / "rank0.1.wlraw").write_bytes(b"x")
    status = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, check=True, capture_output=True).stdout == b""


def test_the_newest_are_kept(tmp_path: Path) -> None:
    folders = make_captures(tmp_path, KEPT + 3)
    prune(tmp_path)
    assert [folder.exists() for folder in folders] == [False] * 3 + [True] * KEPT


def test_of_one_second_those_that_began_last_are_kept(tmp_path: Path) -> None:
    folders = []
    for number in range(KEPT + 2):
        folders.append(new_capture_folder(tmp_path, "train"))
        RunManifest(["train.py"], "/", "/", float(number), "0").write(folders[-1])
    prune(tmp_path)
    assert [folder.exists() for folder in folders] == [False] * 2 + [True] * KEPT


def test_what_is_no_capture_is_kept(tmp_path: Path) -> None:
    foreign = tmp_path / CAPTURES_DIRECTORY / "00000000T000000Z-notes"
    foreign.mkdir(parents=True)
    (foreign / "run.json").write_text('{"format": "something else"}', encoding="utf-8")
    elsewhere = make_captures(tmp_path / "elsewhere", 1)[0]
    link = tmp_path / CAPTURES_DIRECTORY / "00000000T000001Z-link"
    link.symlink_to(elsewhere)
    make_captures(tmp_path, KEPT + 1)
    prune(tmp_path)
    assert foreign.exists() and link.exists() and (elsewhere / "run.json").exists()


def test_a_capture_in_use_is_kept(tmp_path: Path) -> None:
    oldest = make_captures(tmp_path, KEPT + 1)[0]
    with in_use(oldest):
        # A lock is a process's own; another must find it.
        script = (
            "import pathlib, sys; from warplint.capture.folder import prune; prune(pathlib.Path(sys.argv[1]))"
        )
        subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
        assert oldest.exists()
    prune(tmp_path)
    assert not oldest.exists()


def test_a_project_without_captures_is_no_error(tmp_path: Path) -> None:
    prune(tmp_path)
    assert list(tmp_path.iterdir()) == []
