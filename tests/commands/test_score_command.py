"""``warplint score``, on files and on the program that was captured on an H200."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from building import MAIN, CaptureBuilder
from command_line import CommandLine

from warplint.capture.layout import CAPTURES_DIRECTORY
from warplint.profile.store import open_profile

RECORDED = Path(__file__).parent.parent / "profile" / "data" / "h200-unet3d.tar.xz"

LOOP = """\
import torch
from torch.nn.functional import cross_entropy


def train(model, loader, optimizer):
    for images, labels in loader:
        loss = cross_entropy(model(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
"""
READ = "        print(loss.item())\n"
OPERAND = "        loss = loss + torch.rand(64)\n"


def test_parts_stand_where_they_come_from_and_add_up(warplint: CommandLine) -> None:
    warplint.write("train.py", LOOP + READ)
    done = warplint("score", "train.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "train.py: 60 of 100, yellow. WL201 host-read-in-hot-loop costs most.",
        "   75  where every file with GPU code starts",
        "  -15  WL201 host-read-in-hot-loop, certain  train.py:10",
        "",
    ]


def test_a_workspace_has_the_mean_and_is_held_where_a_file_is(warplint: CommandLine) -> None:
    warplint.write("pyproject.toml", "")
    warplint.write("good.py", LOOP)
    warplint.write("read.py", LOOP + READ)
    warplint.write("config.py", "RATE = 3\n")
    done = warplint("score")
    # 75 and 60; the second has a certain finding of medium risk, which allows 70.
    assert done.stdout.splitlines()[-2:] == [
        "workspace: 68 of 100, yellow. 2 files: 1 yellow, 1 green.",
        "   68  the mean of 2 files with GPU code",
    ]
    warplint.write("moved.py", LOOP + OPERAND)
    held = warplint("score").stdout.splitlines()
    # 75, 60 and 30.
    assert held[0].startswith("moved.py: 30 of 100, red.")
    assert held[-3:] == [
        "workspace: 30 of 100, red. 3 files: 1 red, 1 yellow, 1 green.",
        "   55  the mean of 3 files with GPU code",
        "  -25  held at 30: certain high-risk finding WL101  moved.py:10",
    ]


def test_json_has_the_same(warplint: CommandLine) -> None:
    warplint.write("read.py", LOOP + READ)
    found = json.loads(warplint("score", "--format", "json").stdout)
    (file,) = found["files"]
    assert (file["path"], file["value"], file["band"]) == ("read.py", 60, "yellow")
    assert file["parts"][1] == {"label": "WL201 host-read-in-hot-loop, certain", "points": -15, "line": 10}
    assert found["workspace"]["parts"] == [
        {"label": "the one file with GPU code", "points": 60, "path": None, "line": None}
    ]


def test_without_gpu_code_there_is_no_score(warplint: CommandLine) -> None:
    warplint.write("config.py", "RATE = 3\n")
    assert warplint("score").stdout == "No file that was read has GPU code, so there is no score.\n"
    assert json.loads(warplint("score", "--format", "json").stdout) == {"files": [], "workspace": None}


def test_what_was_measured_counts_with_a_capture(warplint: CommandLine) -> None:
    warplint.write("pyproject.toml", "")
    with tarfile.open(RECORDED) as archive:
        archive.extractall(warplint.folder / CAPTURES_DIRECTORY, filter="data")
    text = open_profile(warplint.folder / CAPTURES_DIRECTORY / "h200-unet3d").sources["train.py"].text
    warplint.write("train.py", text)
    (before,) = json.loads(warplint("score", "--format", "json", "train.py").stdout)["files"]
    done = warplint("score", "--with-profile", "--format", "json", "train.py")
    (after,) = json.loads(done.stdout)["files"]
    # 24.1 ms of a step of 59.3 without a batch are 40.6 percent.
    assert {"label": "WL301 slow-data-loader, likely, loses 40.6% of a step", "points": -81} in [
        {"label": part["label"], "points": part["points"]} for part in after["parts"]
    ]
    assert before["value"] > after["value"] == sum(part["points"] for part in after["parts"]) == 0


@pytest.mark.parametrize("chosen", ["text", "json"])
def test_a_capture_of_a_cpu_counts_nothing_and_that_is_said(chosen: str, warplint: CommandLine) -> None:
    warplint.write("pyproject.toml", "")
    warplint.write("train.py", LOOP)
    capture = CaptureBuilder(LOOP, lines={MAIN: [(0, 7)]})
    capture.write(warplint.folder / CAPTURES_DIRECTORY / "20260101T000000Z-train")
    done = warplint("score", "--with-profile", "--format", chosen, "train.py")
    assert (done.returncode, done.stdout) == (0, warplint("score", "--format", chosen, "train.py").stdout)
    assert done.stderr == (
        f"warplint: nothing in {CAPTURES_DIRECTORY}/20260101T000000Z-train counts: the capture is of a CPU\n"
    )


def test_a_line_of_a_notebook_is_told_by_its_cell_everywhere(warplint: CommandLine) -> None:
    warplint.write("good.py", LOOP)
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for source in ("import torch\n", (LOOP + OPERAND + READ).partition("\n")[2])
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    warplint.write("train.ipynb", json.dumps(notebook))
    # 75 - 30 - 15 is 30, and with a file of 75 the mean is 53.
    assert warplint("score").stdout.splitlines() == [
        "train.ipynb: 30 of 100, red. WL101 host-tensor-in-hot-code costs most.",
        "   75  where every file with GPU code starts",
        "  -30  WL101 host-tensor-in-hot-code, certain  train.ipynb:cell 2:9",
        "  -15  WL201 host-read-in-hot-loop, certain  train.ipynb:cell 2:10",
        "",
        "good.py: 75 of 100, green. Nothing was found that keeps the GPU waiting.",
        "   75  where every file with GPU code starts",
        "",
        "workspace: 30 of 100, red. 2 files: 1 red, 1 green.",
        "   53  the mean of 2 files with GPU code",
        "  -23  held at 30: certain high-risk finding WL101  train.ipynb:cell 2:9",
    ]


def test_a_file_that_cannot_be_read_fails_as_in_check(warplint: CommandLine) -> None:
    (warplint.folder / "latin.py").write_bytes(b'name = "\xff"\n')
    unread = warplint("score")
    assert (unread.returncode, warplint("check").returncode) == (1, 1)
    assert unread.stdout == "No file that was read has GPU code, so there is no score.\n"
    assert unread.stderr.startswith("warplint: latin.py has no score: it is not UTF-8: save it so, or name")
    warplint.write("train.py", LOOP)
    scored = warplint("score")
    assert (scored.returncode, scored.stdout.splitlines()[0][:20]) == (1, "train.py: 75 of 100,")
    (warplint.folder / "latin.py").unlink()
    (warplint.folder / "gone.py").symlink_to("nowhere")
    assert (warplint("score").returncode, warplint("check").returncode) == (1, 1)
    # Who is not told of it is not failed for it.
    warplint.write("pyproject.toml", '[tool.warplint]\nignore = ["WL002"]\n')
    assert (warplint("score").returncode, warplint("check").returncode) == (0, 0)


def test_misuse_is_said(warplint: CommandLine) -> None:
    absent = warplint("score", "absent.py")
    assert (absent.returncode, absent.stderr) == (
        2,
        "warplint: error: no such file or folder: absent.py\n",
    )
    warplint.write("pyproject.toml", "")
    warplint.write("train.py", LOOP)
    uncaptured = warplint("score", "--with-profile", "train.py")
    assert uncaptured.returncode == 2
    assert "warplint run -- python train.py" in uncaptured.stderr
