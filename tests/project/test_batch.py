"""Checking many files gives what checking them one by one gives."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from warplint.project import batch
from warplint.project.batch import Mode, Work, check_files, check_item
from warplint.project.config import Config
from warplint.project.files import Target, Unreadable

SAFE = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1]).to(x.device)
        return x * steps
"""


def targets(folder: Path, count: int) -> list[Target | Unreadable]:
    config = Config(folder)
    items: list[Target | Unreadable] = []
    for number in range(count):
        file = folder / f"n{number}.py"
        file.write_text("#\n" * number + SAFE, encoding="utf-8")
        items.append(Target(file, config))
    items.insert(count // 2, Unreadable(folder / "gone.py", "a reason", config))
    return items


@pytest.mark.parametrize("count", [3, 3 * batch.PARALLEL_FROM_FILES])
def test_results_come_in_the_order_given(tmp_path: Path, count: int) -> None:
    items = targets(tmp_path, count)
    results = list(check_files(items, Work()))
    assert [result.path for result in results] == [item.path for item in items]
    assert [result.findings for result in results] == [check_item(item, Work()).findings for item in items]
    assert {len(result.findings) for result in results} == {1}


def test_many_files_are_checked_in_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if batch._cores() < 2:
        monkeypatch.setattr(batch, "_cores", lambda: 2)
    batch._engine.cache_clear()
    items = targets(tmp_path, 2 * batch.PARALLEL_FROM_FILES)
    results = check_files(items, Work(Mode.FIX))
    first = next(results)
    assert first.fixed == 1 and first.original is not None
    assert sum(result.fixed for result in results) == 2 * batch.PARALLEL_FROM_FILES - 1
    assert all("device=x.device" in item.path.read_text() for item in items if isinstance(item, Target))
    # Nothing was analysed in this process.
    assert batch._engine.cache_info().currsize == 0


def test_processes_are_there_before_the_first_result_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever starts a thread to show how it goes does so then, and a fork beside a thread may hang."""
    monkeypatch.setattr(batch, "_cores", lambda: 2)
    before = multiprocessing.active_children()
    results = check_files(targets(tmp_path, batch.PARALLEL_FROM_FILES), Work())
    assert len(multiprocessing.active_children()) == len(before) + 2
    assert len(list(results)) == batch.PARALLEL_FROM_FILES + 1
    assert len(multiprocessing.active_children()) == len(before)


def test_a_diff_keeps_both_texts_and_the_file(tmp_path: Path) -> None:
    (item,) = (item for item in targets(tmp_path, 1) if isinstance(item, Target))
    result = check_item(item, Work(Mode.DIFF))
    assert result.original is not None and result.original.text == SAFE
    assert "device=x.device" in result.source.text
    assert result.findings == () and result.fixed == 1
    assert item.path.read_text(encoding="utf-8") == SAFE


def test_an_encoding_that_cannot_give_the_same_bytes_back_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    # UTF-7 may write any character in its escaped form, which its encoder would not.
    data = b"# coding: utf-7\n# +AGE-\n" + SAFE.encode("utf-7")
    file.write_bytes(data)
    result = check_item(Target(file, Config(tmp_path)), Work(Mode.FIX))
    assert file.read_bytes() == data
    assert result.error == "not fixed: its encoding, utf-7, does not give the same bytes back"
    assert [finding.code for finding in result.findings] == ["WL101"]
