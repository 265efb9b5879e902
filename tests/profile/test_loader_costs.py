"""What the workers of a loader recorded, joined to the waits of the program that they feed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from building import MAIN, ROOT, CaptureBuilder, host_ns

from warplint.capture.layout import RawWriter, Record, worker_name
from warplint.profile.join import join
from warplint.profile.model import LoaderLine, Profile
from warplint.report.feed_sentence import feed_sentence
from warplint.source.text import SourceText

SOURCE = """\
class Data:
    def __getitem__(self, index):
        image = decode(self.paths[index])
        data = (
            self.disk.read(index))
        return image, data
for batch in loader:
    step(batch)
"""


@pytest.fixture
def capture() -> CaptureBuilder:
    """Two steps of 500 us: in each the host waits 300 for a batch, on line 7."""
    builder = CaptureBuilder(SOURCE, steps=[0, 500, 1000], window=(0, 1000))
    builder.lines = {MAIN: [(0, 7), (300, 8), (500, 7), (800, 8)]}
    for begin in (0, 500):
        builder.trace.annotation(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin, begin + 300
        )
    return builder


def fetch(start: float, wall: float, items: int, lines: list[list[int]], **changed: Any) -> dict[str, Any]:
    """Times in microseconds; ``lines`` are ``[line, wall, cpu, ready]``."""
    return {
        "t_ns": host_ns(start),
        "wall_ns": round(wall * 1000),
        "followed_ns": round(wall * 1000),
        "items": items,
        "lines": [[1, line, *(time * 1000 for time in times)] for line, *times in lines],
        "fetches": 4,
        "fetch_ns": 800_000,
        "plain_items": 6,
        "plain_ns": 600_000,
        "idle_ns": 200_000,
        "price_ns": 8_000,
        **changed,
    }


def write_worker(folder: Path, pid: int, *fetches: dict[str, Any], path: str = f"{ROOT}/train.py") -> Path:
    file = folder / worker_name(0, 1, pid)
    writer = RawWriter(file)
    writer.write_json(Record.WORKER, {"pid": pid, "worker": pid - 2, "workers": 2, "dataset": "Data"})
    writer.write_source(1, path, SourceText(SOURCE, Path(path)).digest, SOURCE)
    writer.write_json(Record.CODE, {"id": 1, "file": 1, "name": "Data.__getitem__", "first_line": 2})
    for each in fetches:
        writer.write_json(Record.FETCH, each)
    writer.close()
    return file


def joined(builder: CaptureBuilder, folder: Path) -> Profile:
    return join(builder.write(folder))


def test_a_sample_is_the_mean_over_the_followed_fetches(capture: CaptureBuilder, tmp_path: Path) -> None:
    tmp_path.joinpath("capture").mkdir()
    # Line 5 is a part of the statement at line 4.
    lines = [[3, 240, 200, 30], [5, 100, 10, 0], [4, 20, 20, 0]]
    write_worker(tmp_path / "capture", 2, fetch(0, 400, 2, lines))
    write_worker(tmp_path / "capture", 3, fetch(500, 200, 2, [[3, 160, 150, 0]]))
    profile = joined(capture, tmp_path / "capture")
    assert profile.loader == [
        LoaderLine("train.py", 3, 100, 87.5, 5, 7.5, 4, pytest.approx(400 / 600)),  # type: ignore[arg-type]
        LoaderLine("train.py", 4, 30, 7.5, 22.5, 0, 4, pytest.approx(120 / 600)),  # type: ignore[arg-type]
    ]
    (loader,) = profile.loaders
    assert (loader.dataset, loader.workers, loader.followed, loader.samples) == ("Data", 2, 2, 4)
    assert (loader.sample_us, loader.plain_sample_us, loader.batch) == (150, 100, 2)
    assert (loader.busy_share, loader.price_share) == (0.8, 0.01)
    assert loader.unnamed_share == pytest.approx(80 / 600)
    costs = {cost.line: cost for cost in profile.lines}
    assert (costs[3].worker_us, costs[3].worker_waiting_us, costs[3].share) == (100, 5, 0)
    assert costs[7].worker_us == 0
    assert [(wait.line, wait.us, wait.cause_line) for wait in profile.felt] == [(7, 600, 3)]


def test_what_was_followed_stands_for_the_whole_fetch(capture: CaptureBuilder, tmp_path: Path) -> None:
    tmp_path.joinpath("capture").mkdir()
    cut = fetch(0, 400, 2, [[3, 100, 80, 0]], followed_ns=100_000)
    write_worker(tmp_path / "capture", 2, cut)
    (line,) = joined(capture, tmp_path / "capture").loader
    assert (line.wall_us, line.cpu_us, line.waiting_us, line.share) == (200, 160, 40, 1)


def test_fetches_near_the_window_count(
    capture: CaptureBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("capture").mkdir()
    monkeypatch.setattr("warplint.profile.attribution.loader.NEAREST", 2)
    far = [fetch(start, 10, 1, [[3, 10, 10, 0]]) for start in (-9000, -300, 1500, 9000)]
    near = [fetch(-40, 20, 1, [[4, 20, 20, 0]]), fetch(990, 30, 1, [[4, 30, 30, 0]])]
    write_worker(tmp_path / "capture", 2, far[0], far[1], *near, far[2], far[3])
    (line,) = joined(capture, tmp_path / "capture").loader
    assert (line.line, line.wall_us, line.samples) == (4, 25, 2)


def test_workers_of_other_processes_are_not_this_ones(capture: CaptureBuilder, tmp_path: Path) -> None:
    tmp_path.joinpath("capture").mkdir()
    file = write_worker(tmp_path / "capture", 2, fetch(0, 400, 2, [[3, 400, 400, 0]]))
    file.rename(file.with_name(worker_name(0, 77, 2)))
    profile = joined(capture, tmp_path / "capture")
    assert (profile.loader, profile.loaders) == ([], [])


def test_a_damaged_worker_file_is_said_and_the_others_count(capture: CaptureBuilder, tmp_path: Path) -> None:
    tmp_path.joinpath("capture").mkdir()
    write_worker(tmp_path / "capture", 2, fetch(0, 400, 2, [[3, 400, 400, 0]]))
    write_worker(tmp_path / "capture", 3, {"t_ns": 0})
    cut = write_worker(tmp_path / "capture", 4, fetch(0, 200, 2, [[3, 100, 100, 0]]), fetch(0, 1, 1, []))
    cut.write_bytes(cut.read_bytes()[:-5])
    profile = joined(capture, tmp_path / "capture")
    assert [(line.line, line.samples) for line in profile.loader] == [(3, 4)]
    assert [note for note in profile.notes if "loader worker" in note] == [
        f"what the loader worker of {worker_name(0, 1, 3)} did cannot be read: 'lines'"
    ]


def test_files_that_only_workers_ran_have_their_text(capture: CaptureBuilder, tmp_path: Path) -> None:
    tmp_path.joinpath("capture").mkdir()
    write_worker(tmp_path / "capture", 2, fetch(0, 400, 2, [[3, 400, 400, 0]]), path="/lib/images.py")
    profile = joined(capture, tmp_path / "capture")
    assert profile.loader[0].file == "/lib/images.py"
    assert profile.sources["/lib/images.py"].text == SOURCE


def test_the_sentence_names_the_line_that_the_step_waits_for(capture: CaptureBuilder, tmp_path: Path) -> None:
    tmp_path.joinpath("capture").mkdir()
    write_worker(tmp_path / "capture", 2, fetch(0, 400_000, 2, [[3, 292_000, 233_600, 30_000]]))
    assert feed_sentence(joined(capture, tmp_path / "capture")) == (
        "a step waits 0.30 ms for data; its 2 workers fetch 80% of the time, and 73% of a sample's 200 ms is "
        "train.py:3 `image = decode(self.paths[index])`: 80% computing"
    )


def test_without_workers_the_sentence_names_the_line_of_the_program(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.lines = {MAIN: [(0, 3), (290, 7), (300, 8), (500, 3), (800, 8)]}
    assert feed_sentence(joined(capture, tmp_path / "capture")) == (
        "a step waits 0.30 ms for data; 98% of that is train.py:3 `image = decode(self.paths[index])`"
    )


def test_steps_that_hardly_wait_need_no_sentence(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.events.clear()
    capture.trace.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 19)
    assert feed_sentence(joined(capture, tmp_path / "capture")) is None


PROGRAM = """
import time, torch
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, index):
        time.sleep(0.02)
        until = time.thread_time_ns() + 2e6
        while time.thread_time_ns() < until: pass
        return torch.full((8,), float(index))

if __name__ == "__main__":
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in DataLoader(Data(), batch_size=4, num_workers=2):
        model(batch).sum().backward()
        optimizer.step()
"""


def test_a_planted_slow_line_is_what_a_real_step_waits_for(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "warplint", "run", "--after", "4", "--steps", "8", "train.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=240)
    (folder,) = (tmp_path / ".warplint").iterdir()
    profile = join(folder)
    number = PROGRAM.splitlines().index("        time.sleep(0.02)") + 1
    assert profile.loader[0].line == number
    assert profile.loader[0].waiting_us > 0.95 * 20_000
    assert profile.loader[0].cpu_us < 800
    waiting = profile.felt[0]
    assert PROGRAM.splitlines()[waiting.line - 1].startswith("    for batch in DataLoader")
    assert (waiting.part, waiting.cause_line) == ("data", number)
    # Twenty batches of four samples, by two workers that wait 20 ms and compute 2 ms for each.
    assert profile.totals.felt_data_us / profile.totals.steps > 0.5 * 44_000
    sentence = feed_sentence(profile)
    assert sentence is not None
    assert f"train.py:{number} `time.sleep(0.02)`" in sentence
    assert "waiting for storage, a lock or another process" in sentence
