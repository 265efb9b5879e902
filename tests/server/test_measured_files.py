"""What is kept of closed files that a capture speaks of."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from lsp_captures import write_capture

from warplint.advice.measured.newest_captured import Measuring, NewestCaptures
from warplint.profile.model import LineCost
from warplint.source.text import SourceText
from warplint_server.closed_files import Answer, Request, answers
from warplint_server.measured_files import MeasuredFiles

READING = """\
import torch


def train(model, loader, optimizer):
    for images, labels in loader:
        loss = model(images.cuda()).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


def source_answered(measured: MeasuredFiles, folder: Path) -> weakref.ref[SourceText]:
    """The text of a folder's only file as it was answered."""
    (answer,) = answers(Request(((folder, None),)), measured)
    assert isinstance(answer, Answer) and answer.result is not None
    return weakref.ref(answer.result.source)


def test_of_a_deleted_file_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(READING)
    write_capture(tmp_path, "20260101T000000Z-a", "train.py", [LineCost("", 9, cpu_us=1e4)])
    measured = MeasuredFiles()
    text = source_answered(measured, tmp_path)
    gc.collect()
    assert text() is not None
    (tmp_path / "train.py").unlink()
    assert list(answers(Request(((tmp_path, None),)), measured)) == []
    gc.collect()
    assert text() is None


def test_a_capture_concerns_the_files_with_a_measured_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(READING)
    write_capture(tmp_path, "20260101T000000Z-a", "train.py", [LineCost("", 9, cpu_us=1e4)])
    captured = NewestCaptures().of(tmp_path)
    assert captured is not None
    measuring = Measuring(captured, tmp_path)
    assert measuring.concerns(tmp_path / "train.py")
    assert not measuring.concerns(tmp_path / "other.py")
    assert not measuring.concerns(tmp_path / "folder" / "train.py")
