"""Captures of a real program by this Python, joined: the figures must be those it was built to have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.window_trace import read_window_trace
from warplint.profile.kineto.calls import BACKWARD_NODE
from warplint.profile.kineto.clock import Clock
from warplint.profile.kineto.trace import Trace, spans_named
from warplint.profile.model import LineCost, Profile
from warplint.profile.raw.process import read_process
from warplint.profile.store import open_profile
from warplint.profile.timeline import NOWHERE, Places, Timeline
from warplint.project.captures import captures

SLEEP_US = 20_000

PROGRAM = """\
import json
import time
import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.02)  # LOAD
        return torch.ones(4, 4)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(0.02)  # OWN
        return gradient * 2


weight = torch.ones(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)


def parts(x):
    for index in range(2):
        yield x.tanh()  # TANH


def step(x):
    a = x @ weight  # MM
    a = a.exp()  # EXP
    b = [a.log() for _ in range(2)]  # LOG
    c = torch.stack(  # STACK
        [
            part.sigmoid()
            for part in b
        ]
    ).sum(0)
    for part in parts(c):
        c = c - part  # SUB
    start = time.perf_counter()
    time.sleep(0.02)  # SLEEP
    slept.append(time.perf_counter() - start)
    loss = Twice.apply(c.sin()).mean()  # TWICE
    optimizer.zero_grad()
    loss.backward()  # BACKWARD
    optimizer.step()


slept = []
for epoch in range(2):
    for batch in DataLoader(Slow()):  # LOOP
        step(batch[0])
print(json.dumps(slept))
"""

NODES = {
    "MmBackward0": "MM",
    "ExpBackward0": "EXP",
    "LogBackward0": "LOG",
    "SigmoidBackward0": "STACK",
    "StackBackward0": "STACK",
    "TanhBackward0": "TANH",
    "SubBackward0": "SUB",
    "SinBackward0": "TWICE",
    "MeanBackward0": "TWICE",
    "torch::autograd::AccumulateGrad": "BACKWARD",
}
"""Backward nodes, each made on one line only."""


def line_of(tag: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"# {tag}"))


@dataclass
class Captured:
    """A capture of PROGRAM."""

    folder: Path
    profile: Profile
    slept_us: float
    """What the program itself measured on SLEEP in the captured steps."""

    def cost(self, tag: str) -> LineCost:
        return next(cost for cost in self.profile.lines if cost.line == line_of(tag))


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    root = tmp_path_factory.mktemp("real")
    (root / "pyproject.toml").write_text("")
    (root / "train.py").write_text(PROGRAM)
    words = ["run", "--after", "3", "--steps", "6", "--", sys.executable, "train.py"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "warplint", *words],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        timeout=240,
    )
    (folder,) = captures(root)
    # The window opens after step 3 and begins to count after a lead-in step.
    slept_us = sum(json.loads(done.stdout)[4:10]) * 1e6
    return Captured(folder, open_profile(folder), slept_us)


def test_whole_steps_are_counted(captured: Captured) -> None:
    totals = captured.profile.totals
    assert (totals.steps, totals.device) == (6, "cpu")
    assert totals.wall_us > 6 * 3 * SLEEP_US
    assert set(captured.profile.sources) == {"train.py"}


def test_a_planted_wait_takes_as_long_as_the_program_measured(captured: Captured) -> None:
    assert captured.cost("SLEEP").cpu_us == pytest.approx(captured.slept_us, rel=0.02)


@pytest.mark.parametrize("tag", ["LOAD", "OWN"])
def test_waits_in_the_loader_and_in_backward_stand_on_their_lines(tag: str, captured: Captured) -> None:
    # On a busy machine a sleep may last longer, never shorter.
    assert SLEEP_US < captured.cost(tag).cpu_us / captured.profile.totals.steps < 2 * SLEEP_US


def test_every_microsecond_has_a_line(captured: Captured) -> None:
    totals, lines = captured.profile.totals, captured.profile.lines
    assert sum(cost.cpu_us for cost in lines) + totals.unattributed_us == pytest.approx(totals.wall_us)
    assert totals.unattributed_us < 0.01 * totals.wall_us
    assert sum(cost.share for cost in lines) == pytest.approx(1, abs=0.01)


def test_a_statement_over_several_lines_has_one_cost(captured: Captured) -> None:
    head = line_of("STACK")
    assert captured.cost("STACK").cpu_us > 0
    assert not {cost.line for cost in captured.profile.lines} & set(range(head + 1, head + 6))


@dataclass
class Joined:
    """A window's trace on the line timeline's clock."""

    trace: Trace
    clock: Clock
    charger: Charger
    places: Places

    def line(self, thread: int, t_ns: int) -> int:
        place = self.charger.place(thread, t_ns)
        return 0 if place == NOWHERE else self.places.all[place].line


@pytest.fixture(scope="module")
def window(captured: Captured) -> Joined:
    process = read_process(next(captured.folder.glob("*.wlraw")))
    window = process.windows[0]
    close, places = window.close, Places(process)
    assert close is not None and close.trace is not None and close.main_thread is not None
    trace, clock = read_window_trace(captured.folder, close.trace, close)
    return Joined(trace, clock, Charger(trace, Timeline(window, places), close.main_thread), places)


def nodes(trace: Trace) -> Iterator[tuple[str, int]]:
    for span in spans_named(trace, trace.operators, (BACKWARD_NODE,)):
        yield trace.text(trace.operators.name[span]).removeprefix(BACKWARD_NODE), span


def test_backward_nodes_go_to_the_forward_line_that_made_them(window: Joined) -> None:
    operators = window.trace.operators
    found = [
        (name, window.line(operators.thread[span], operators.start[span] + 1))
        for name, span in nodes(window.trace)
        if name in NODES
    ]
    assert {name for name, _ in found} == set(NODES)
    assert [pair for pair in found if pair[1] != line_of(NODES[pair[0]])] == []


def test_forward_operators_go_to_their_lines(window: Joined) -> None:
    operators = window.trace.operators
    expected = {
        "aten::matmul": "MM",
        "aten::exp": "EXP",
        "aten::log": "LOG",
        "aten::sigmoid": "STACK",
        "aten::tanh": "TANH",
        "aten::sub": "SUB",
        "aten::sin": "TWICE",
    }
    found = [
        (window.trace.text(operators.name[index]), window.line(operators.thread[index], start))
        for index, start in enumerate(operators.start)
        if window.trace.text(operators.name[index]) in expected
    ]
    assert {name for name, _ in found} == set(expected)
    assert [pair for pair in found if pair[1] != line_of(expected[pair[0]])] == []


def test_clocks_are_tied_to_each_other_within_a_few_microseconds(window: Joined) -> None:
    assert window.clock.residual_us < 20
    assert window.clock.violation_us < 50
