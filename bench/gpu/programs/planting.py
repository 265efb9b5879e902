"""Bottlenecks that come and go: what the planted_*.py programs share.

A program asks ``steps`` whether each of its steps has the bottleneck. In the first ``measured`` of them it
comes and goes in blocks, with the GPU drained between blocks, so that the program itself times what it costs.
From then on it stays, to be captured.
"""

import fcntl
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BLOCK = 16
"""Steps of a block: many against what a loader fetches ahead."""
WARM_UP = 2
"""Blocks at the start that are not counted: one of each kind."""
CAPTURED = 32
"""Steps after the measured ones: a window, and some to settle before it."""


def is_planted(step: int, measured: int) -> bool:
    return step >= measured or step // BLOCK % 2 == 1


def steps(measured: int) -> Iterator[bool]:
    """For each step whether it has the bottleneck. The last line of output is JSON: what a step took."""
    bounds = []
    with alone():
        for step in range(measured + CAPTURED):
            if step <= measured and step % BLOCK == 0:
                drain()
                bounds.append(time.perf_counter())
            yield is_planted(step, measured)
        drain()
    blocks_s = [after - before for before, after in pairwise(bounds)]
    without, planted = blocks_s[WARM_UP::2], blocks_s[WARM_UP + 1 :: 2]
    times = {"without": statistics.median(without), "planted": statistics.median(planted)}
    print(json.dumps({"step_ms": {name: each / BLOCK * 1e3 for name, each in times.items()}}))


@contextmanager
def alone() -> Iterator[None]:
    """Of the programs that are started at a time, only one makes steps: starting takes most of their time."""
    with (Path(tempfile.gettempdir()) / "warplint-planted.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def drain() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
