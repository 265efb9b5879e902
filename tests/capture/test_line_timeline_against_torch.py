"""The line timeline against an independent record of which line called each torch function.

The record is a TorchFunctionMode outside the project that looks at the program's own frames: it sees
operators and subscripts as well as named calls, at the time they are made.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import Process, make_project, run, run_plainly

RECORD = '''
"""Stands outside the project, so that its own lines are no user lines."""
import json, sys, threading, time
from torch.overrides import TorchFunctionMode

calls = []

class Record(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        frame = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.endswith("train.py"):
            frame = frame.f_back
        if frame is not None:
            name = getattr(function, "__name__", str(function))
            calls.append((threading.get_native_id(), time.perf_counter_ns(), frame.f_lineno, name))
        return function(*args, **(kwargs or {}))

def save(path):
    with open(path, "w") as stream:
        json.dump(calls, stream)
'''

PROGRAM = """\
import asyncio
import contextlib
import functools
import sys
import threading

sys.path.append(sys.argv[1])
import torch
from record import Record, save


def traced(function):
    @functools.wraps(function)
    def wrapper(x, *more):
        before = x + 1
        result = function(x, *more)
        return result * before.mean()
    return wrapper


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    @property
    def scale(self):
        return self.linear.weight.abs().mean()

    def forward(self, x):
        hidden = self.linear(x)
        return hidden * self.scale


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(), Layer()

    def forward(self, x):
        return (self.first(x)
                + self.second(x).relu())


def operators(a, b):
    c = a @ b
    c = c + 1
    c += 3
    d = -c
    e = c[0]
    c[1] = 7
    if (d > 0).any():
        e = e ** 2
    while e.sum() > 1e9:
        pass
    assert float(e.sum()) is not None
    return c.T


def comprehensions(x):
    squares = [row * row for row in x]
    named = {index: row.sum() for index, row in enumerate(x)}
    lazily = sum(row.mean() for row in x)
    chosen = [
        row.abs()
        for row in x
        if row.sum() > -1e9
    ]
    return lazily + squares[0] + chosen[0] + named[0]


def halves(x):
    for row in x:
        got = yield row / 2
        if got is not None:
            row.add(got)
    return x.sum()


def delegating(x):
    total = yield from halves(x)
    yield total.exp()


def generators(x):
    source = halves(x)
    first = next(source) + source.send(x[0].cos())
    source.close()
    for item in delegating(x):
        first = first + item.sin()
    return first


@contextlib.contextmanager
def doubled(x):
    y = x * 2
    try:
        yield y.tanh()
    finally:
        y.sigmoid()


def contexts(x):
    with doubled(x) as y, torch.no_grad():
        z = y.floor()
    return z.ceil()


def failing(x):
    y = x.log2()
    if y is not None:
        raise ValueError(y.sum())


def exceptions(x):
    try:
        failing(x.abs() + 1)
    except ValueError as error:
        x = x.exp2() + error.args[0].item()
    finally:
        x = x.round()
    with contextlib.suppress(ValueError):
        (x.sign(), failing(x.abs() + 2))
    return x.trunc()


def nested(x):
    def inner(y):
        return y.square() + x.sum()
    apply = lambda y: inner(y).sqrt()
    return (
        inner(x.abs()),
        apply(
            x.abs(),
        ),
        x.frac(),
    )


@traced
def decorated(x,
              other=None):
    return torch.stack([
        x.cos(),
        x.sin(),
    ]).sum(
        dim=0,
    )


def multi_line(x):
    return (
        x.relu()
        .sum(dim=0)
        + torch.maximum(
            x[0],
            x[1].neg(),
        )
    )


async def awaited(x):
    await asyncio.sleep(0)
    return x.erf()


async def asynchronous(x):
    y = x.add(1) + await awaited(x)
    both = await asyncio.gather(awaited(y), awaited(y.mul(2)))
    return sum(both).atan()


def recursive(x, depth):
    if depth == 0:
        return x.clone()
    return recursive(x * 2, depth - 1) + x.sum()


class Callable:
    def __call__(self, x):
        return x.expm1()

    def __getitem__(self, x):
        return x.log1p()

    def __eq__(self, x):
        return bool((x.abs() >= 0).all())


def protocols(x):
    thing = Callable()
    y = thing(x) + thing[x.abs()]
    if thing == x:
        y = max(x, key=lambda row: row.sum())
    return y.sum()


def in_thread(x):
    with Record():
        y = x.asin()
        for _ in range(3):
            y = y.sinh()


def threads(x):
    workers = [threading.Thread(target=in_thread, args=(x,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def step(model, optimizer, x):
    operators(x, x)
    comprehensions(x); generators(x)
    contexts(x)
    exceptions(x)
    nested(x)
    decorated(x)
    multi_line(x)
    asyncio.run(asynchronous(x))
    recursive(x, 3).sum()
    protocols(x)
    threads(x)
    loss = model(x).square().mean(); loss = loss + 1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with Record():
        for index in range(6):
            x = torch.rand(4, 4)
            step(model, optimizer, x)
            x.clamp(0, 1).sum()
    save(sys.argv[2])


main()
"""

# A statement that spans lines may be reported on any of them while it runs; both records name physical lines.
LEAST_CALLS = 300


Call = tuple[int, int, int, str]
"""Native thread, time, line, function."""


@dataclass
class Captured:
    process: Process
    calls: list[Call]
    """Every torch call of the program under capture."""
    calls_without: list[Call]
    """The same of a run without Warplint."""

    @property
    def in_window(self) -> list[Call]:
        opened, closed = self.process.opened[0]["t_ns"], self.process.closed[0]["t_ns"]
        return [call for call in self.calls if opened <= call[1] < closed]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    folder = tmp_path_factory.mktemp("timeline")
    root = make_project(folder / "project", train=PROGRAM)
    outside = folder / "outside"
    outside.mkdir()
    (outside / "record.py").write_text(RECORD, encoding="utf-8")
    record, record_without = folder / "record.json", folder / "record_without.json"
    done = run(root, "--after", "2", "--steps", "2", "train.py", str(outside), str(record))
    assert (done.returncode, done.stderr) == (0, b"")
    plainly = run_plainly(root, sys.executable, "train.py", str(outside), str(record_without))
    assert plainly.returncode == 0
    return Captured(done.process, read_calls(record), read_calls(record_without))


def read_calls(path: Path) -> list[Call]:
    return [(thread, t_ns, line, name) for thread, t_ns, line, name in json.loads(path.read_text())]


def test_every_torch_call_in_the_window_is_on_the_line_that_made_it(captured: Captured) -> None:
    place = captured.process.place
    wrong = Counter(
        (name, line, place(thread, t_ns))
        for thread, t_ns, line, name in captured.in_window
        if place(thread, t_ns) != ("train.py", line)
    )
    assert len(captured.in_window) >= LEAST_CALLS
    assert not wrong


def test_calls_of_several_threads_were_compared(captured: Captured) -> None:
    assert len({thread for thread, *_ in captured.in_window}) >= 3


def test_the_programs_function_mode_sees_nothing_of_us(captured: Captured) -> None:
    seen = Counter((line, name) for _, _, line, name in captured.calls)
    assert seen == Counter((line, name) for _, _, line, name in captured.calls_without)


def test_the_source_is_stored_as_it_ran(captured: Captured) -> None:
    (source,) = [each for each in captured.process.sources.values() if Path(each.path).name == "train.py"]
    assert source.text == PROGRAM
