"""Loader workers: their lines are timed for some fetches, and they work as they would without us."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loaders import LOOP, workers_of
from programs import ON_MONITORING, make_project, run, run_plainly, says_what_it_says_plainly

from warplint.capture.layout import RawReader, Record
from warplint.capture.lines.loaded_modules import LoadedModules
from warplint.capture.lines.sources import Sources
from warplint.capture.lines.tool_ids import CANDIDATES
from warplint.capture.lines.user_code import UserCode
from warplint.capture.recorder import Recorder
from warplint.capture.summary import summarize
from warplint.capture.workers.fetch_lines import Stamps
from warplint.capture.workers.functions import Surroundings
from warplint.capture.workers.samples import WorkerSamples

monitoring: Any = getattr(sys, "monitoring", None)

COMPUTED_MS, WAITED_MS = 6.0, 6.0

LOADING = f"""
import sys, time, torch
from torch.utils.data import DataLoader, Dataset
{LOOP}
class Data(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        until = time.thread_time_ns() + {COMPUTED_MS} * 1e6
        next(filter(until.__lt__, iter(time.thread_time_ns, None)))
        time.sleep({WAITED_MS} / 1000)
        return torch.full((8,), float(index))

def collate(items):
    time.sleep({WAITED_MS} / 1000)
    return torch.stack(items)

if __name__ == "__main__":
    loader = DataLoader(
        Data(), batch_size=4, num_workers=2, collate_fn=collate,
        multiprocessing_context=sys.argv[1], persistent_workers=sys.argv[2] == "persistent",
    )
    train(loader, epochs=2)
"""


@pytest.mark.parametrize(
    ("method", "kept"),
    [("fork", "fresh"), ("fork", "persistent"), ("spawn", "fresh"), ("forkserver", "fresh")],
)
def test_lines_of_workers_are_timed_and_waiting_is_told_from_computing(
    method: str, kept: str, tmp_path: Path
) -> None:
    root = make_project(tmp_path / "project", train=LOADING)
    done = run(root, "train.py", method, kept)
    # Each of the 48 samples holds its index eight times, and is fetched twice.
    assert (done.returncode, done.stdout) == (0, b"18048.0\n")
    assert says_what_it_says_plainly(done, sys.executable, "train.py", method, kept)
    assert len(done.processes) == 1
    workers = workers_of(done)
    assert len(workers) == (2 if kept == "persistent" else 4)
    assert {worker.described["worker"] for worker in workers} == {0, 1}
    for worker in workers:
        assert worker.described["dataset"] == "Data"
        assert worker.described["parent"] == done.process.process["pid"]
        # Persistent workers are terminated with the program, wherever they are.
        assert worker.end is not None or kept == "persistent"
        assert len(worker.fetches) >= 1
        times = worker.texts()
        computing = times["next(filter(until.__lt__, iter(time.thread_time_ns, None)))"]
        waiting = times[f"time.sleep({WAITED_MS} / 1000)"]
        # The first line spends its CPU time by the thread's own clock, whatever else runs beside it. It is
        # one event: of a loop in Python, what following it takes is taken off.
        assert 0.8 * COMPUTED_MS < computing["cpu"] < 1.2 * COMPUTED_MS
        # Each sample is slept for, and each batch of four once more. Sleeping takes no CPU time, only
        # waking does; where other processes have the cores, some of it is taken for being ready.
        assert waiting["wall"] - waiting["ready"] > 0.6 * WAITED_MS * (1 + 1 / 4)
        assert waiting["cpu"] < 0.3 * WAITED_MS


def test_reading_waits_where_what_is_read_comes_late(tmp_path: Path) -> None:
    text = f"""
import os, threading, time, torch
from torch.utils.data import DataLoader, Dataset
{LOOP}
class Data(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        disk, asked = os.pipe(), os.pipe()
        threading.Thread(target=answer, args=(asked[0], disk[1])).start()
        os.write(asked[1], b"?"); data = os.read(disk[0], 1)
        for each in (*disk, *asked): os.close(each)
        return torch.full((8,), float(len(data)))

def answer(asked, disk):
    os.read(asked, 1)
    time.sleep(0.010)
    os.write(disk, b"x")

train(DataLoader(Data(), batch_size=2, num_workers=1))
"""
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    assert (done.returncode, done.stdout) == (0, b"128.0\n")
    (worker,) = workers_of(done)
    reading = worker.texts()['os.write(asked[1], b"?"); data = os.read(disk[0], 1)']
    assert reading["wall"] - reading["cpu"] - reading["ready"] > 5
    assert reading["cpu"] < 1


def test_generators_of_iterable_datasets_are_followed(tmp_path: Path) -> None:
    text = f"""
import time, torch
from torch.utils.data import DataLoader, IterableDataset
{LOOP}
class Stream(IterableDataset):
    def __iter__(self):
        for number in range(24):
            time.sleep(0.002)
            yield torch.full((8,), float(number))

train(DataLoader(Stream(), batch_size=None, num_workers=1))
"""
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    assert (done.returncode, done.stdout) == (0, b"2208.0\n")
    (worker,) = workers_of(done)
    assert {fetch["items"] for fetch in worker.fetches} == {1}
    waiting = worker.texts()["time.sleep(0.002)"]
    assert waiting["wall"] - waiting["ready"] > 1.9


def test_errors_in_workers_look_as_without_us(tmp_path: Path) -> None:
    text = """
import torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        if index == 5:
            raise ValueError("a broken file")
        return torch.zeros(8)

for batch in DataLoader(Data(), batch_size=1, num_workers=1):
    pass
"""
    root = make_project(tmp_path / "project", train=text)
    done, plain = run(root, "train.py"), run_plainly(root, sys.executable, "train.py")
    assert done.returncode == plain.returncode == 1
    assert done.stderr == plain.stderr
    assert b"a broken file" in done.stderr
    (worker,) = workers_of(done)
    assert [fetch["items"] for fetch in worker.fetches] == [1]


def test_what_a_killed_worker_had_written_is_whole(tmp_path: Path) -> None:
    text = """
import os, signal, torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        if index == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.zeros(8)

for batch in DataLoader(Data(), batch_size=1, num_workers=1):
    pass
"""
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    # Which error it is depends on where the worker's last batch was, with Warplint and without.
    assert done.returncode == 1
    (worker,) = workers_of(done)
    assert worker.fetches and worker.end is None
    assert worker.lost_bytes == 0


def test_lines_of_an_installed_package_count_where_none_of_the_users_runs(tmp_path: Path) -> None:
    package = tmp_path / "elsewhere" / "folders"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import time, torch\n"
        "class Images(torch.utils.data.Dataset):\n"
        "    def __init__(self, change):\n"
        "        self.change = change\n"
        "    def __len__(self):\n"
        "        return 32\n"
        "    def __getitem__(self, index):\n"
        "        time.sleep(0.002)\n"
        "        return self.change(index)\n"
    )
    text = f"""
import time, torch, folders
from torch.utils.data import DataLoader, Subset
{LOOP}
def change(index):
    time.sleep(0.001)
    return torch.full((8,), float(index))

train(DataLoader(Subset(folders.Images(change), range(32)), batch_size=2, num_workers=1))
"""
    root = make_project(tmp_path / "project", train=text)
    done = run(root, "train.py", environment={"PYTHONPATH": str(package.parent)})
    assert (done.returncode, done.stdout) == (0, b"3968.0\n")
    (worker,) = workers_of(done)
    assert worker.described["packages"] == ["folders"]
    times = worker.texts()
    assert times["time.sleep(0.002)"]["wall"] > 1.9
    assert times["time.sleep(0.001)"]["wall"] > 0.9


def test_epochs_that_start_new_workers_do_not_fill_the_folder(tmp_path: Path) -> None:
    text = f"""
import torch
from torch.utils.data import DataLoader
{LOOP}
train(DataLoader(torch.ones(6, 8), batch_size=1, num_workers=1), epochs=36)
"""
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    assert (done.returncode, done.stdout) == (0, b"1728.0\n")
    assert len(workers_of(done)) == 32


def test_a_worker_that_takes_our_tool_id_has_it(tmp_path: Path) -> None:
    text = """
import sys, torch
from torch.utils.data import DataLoader, Dataset
monitoring = getattr(sys, "monitoring", None)
class Data(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        names = [monitoring.get_tool(tool) for tool in (3, 4)] if monitoring else []
        if index == 1 and monitoring:
            monitoring.use_tool_id(3, "theirs")
        if monitoring is None:
            return index, [], None, None
        return index, names, monitoring.get_tool(3), monitoring.use_tool_id.__name__

for fetched in DataLoader(Data(), batch_size=None, num_workers=1):
    print(*fetched)
"""
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    (worker,) = workers_of(done)
    assert [fetch["fetches"] for fetch in worker.fetches][:1] == [2]
    if not ON_MONITORING:
        assert lines == [f"{index} [] None None" for index in range(8)]
        return
    free, used = "[None, None] None use_tool_id", "['theirs', None] theirs use_tool_id"
    # The second fetch is followed, until it takes the id that we follow it under.
    assert lines[:2] == [f"0 {free}", "1 ['warplint', None] theirs use_tool_id"]
    assert lines[2:4] == [f"2 {used}", f"3 {used}"]
    assert lines[4] in (f"4 {used}", "4 ['theirs', 'warplint'] theirs use_tool_id")
    assert lines[-1].endswith("theirs use_tool_id")


@pytest.mark.parametrize(
    ("taken_out", "loaded"),
    [([], ["d"]), (["b"], ["d"]), (["c"], ["d"]), (["a", "c"], ["d"]), (["b"], ["d", "e"]), (["b"], [])],
)
def test_modules_loaded_after_others_were_taken_out_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: list[str], loaded: list[str]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for letter in "abcde":
        (tmp_path / f"seen_{letter}.py").write_text("")
    found = LoadedModules([f"{tmp_path}{os.sep}"])
    before, here = list("abc"), set("abc") - set(taken_out) | set(loaded)
    try:
        for letter in before:
            importlib.import_module(f"seen_{letter}")
        assert {module.__name__ for module in found.of([])} == {f"seen_{letter}" for letter in before}
        for letter in taken_out:
            del sys.modules[f"seen_{letter}"]
        for letter in loaded:
            importlib.import_module(f"seen_{letter}")
        assert {module.__name__ for module in found.of([])} == {f"seen_{letter}" for letter in here}
        assert {module.__name__ for module in found.of(["seen_d"])} == {f"seen_{letter}" for letter in here}
    finally:
        for letter in "abcde":
            sys.modules.pop(f"seen_{letter}", None)


def samples_of(folder: Path) -> WorkerSamples:
    user_code = UserCode([folder], [], folder)
    recorder = Recorder(folder / "raw.wlworker", lambda: None)
    sources = Sources(recorder, user_code, 0.0)
    stamps = Stamps(user_code, UserCode([], [], folder))
    return WorkerSamples(recorder, sources, stamps, Surroundings(LoadedModules([str(folder)])))


def test_turning_lines_on_and_off_is_none_of_a_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = samples_of(tmp_path)
    # On a machine that has no time for us each may take a second.
    for name in ("start", "stop"):
        quickly = getattr(samples._lines, name)
        monkeypatch.setattr(samples._lines, name, lambda *args, of=quickly: (time.sleep(0.3), of(*args))[1])
    for _ in range(2):
        samples.asks()
        samples.begins(1, sys._getframe())
        time.sleep(0.2)
        if samples.ends(fetched=True):
            samples.write()
    samples.close()
    records = RawReader(tmp_path / "raw.wlworker").records()
    (fetch,) = [json.loads(payload) for kind, payload in records if kind is Record.FETCH]
    assert fetch["wall_ns"] >= 0.2e9
    assert fetch["followed_ns"] == pytest.approx(fetch["wall_ns"], abs=0.1e9)


def test_what_cannot_be_followed_is_tried_again_ever_less_often(tmp_path: Path) -> None:
    samples = samples_of(tmp_path)

    def fetch() -> bool:
        samples.begins(1, sys._getframe())
        followed = samples.ends(fetched=True)
        if followed:
            samples.write()
        samples.asks()
        return followed

    with all_taken():
        assert not any(fetch() for _ in range(20))
    # Tried in vain at fetches 1, 9 (1 + 4 * 2), and from 25 (9 + 4 * 4) on again; counted from 0.
    assert [index for index in range(20, 40) if fetch()][:1] == [25]


@contextlib.contextmanager
def all_taken() -> Iterator[None]:
    """Tools of somebody else's hold what lines could be followed with."""
    if ON_MONITORING:
        for tool in CANDIDATES:
            monitoring.use_tool_id(tool, "theirs")
    else:
        sys.settrace(lambda frame, event, argument: None)
    try:
        yield
    finally:
        if ON_MONITORING:
            for tool in CANDIDATES:
                monitoring.free_tool_id(tool)
        else:
            sys.settrace(None)


def test_a_worker_whose_functions_cannot_be_found_says_so_once(tmp_path: Path) -> None:
    text = """
import torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    @property
    def __dict__(self):
        raise RuntimeError("loaded on demand")

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.full((8,), float(index))

print(float(sum(batch.sum() for batch in DataLoader(Data(), batch_size=1, num_workers=2))))
"""
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    assert (done.returncode, done.stdout) == (0, b"6240.0\n")
    assert says_what_it_says_plainly(done, sys.executable, "train.py")
    said = "lines of loader workers were not followed: RuntimeError: loaded on demand"
    # Before Python 3.12 functions need not be found.
    assert summarize(done.folder).sentences.count(said) == (1 if ON_MONITORING else 0)
    assert all(bool(worker.fetches) is not ON_MONITORING for worker in workers_of(done))


def test_our_work_in_a_worker_brings_on_no_collection_of_garbage(tmp_path: Path) -> None:
    text = """
import gc, sys
OURS = {"begin_capture", "_follow", "write"}
ours = []
def note(phase, info):
    frame = sys._getframe(1)
    while frame is not None:
        if "capture" in frame.f_code.co_filename and frame.f_code.co_name in OURS:
            ours.append(frame.f_code.co_name)
            return
        frame = frame.f_back
gc.callbacks.append(note)
gc.set_threshold(50, 1, 1)
import torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return ours, gc.isenabled()

for found in DataLoader(Data(), batch_size=None, num_workers=1):
    print(*found)
"""
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    assert (done.returncode, done.stdout) == (0, b"[] True\n" * 8)
    (worker,) = workers_of(done)
    assert worker.fetches
