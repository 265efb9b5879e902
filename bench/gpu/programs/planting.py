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
CAPTURED = 112
"""Steps after the measured ones: a window with its lead-in, and before it as many as fill the queue of
launches."""


def is_planted(step: int, measured: int, in_halves: bool) -> bool:
    if step >= measured:
        return True
    return 2 * step >= measured if in_halves else step // BLOCK % 2 == 1


def steps(measured: int, in_halves: bool = False) -> Iterator[bool]:
    """For each step whether it has the bottleneck. The last line of output is JSON: what a step took.

    ``in_halves``: the measured steps have it in their second half, and not in blocks that alternate.
    """
    bounds = []
    with alone():
        for step in range(measured + CAPTURED):
            if step <= measured and step % BLOCK == 0:
                drain()
                bounds.append(time.perf_counter())
            yield is_planted(step, measured, in_halves)
        drain()
    blocks_s = [after - before for before, after in pairwise(bounds)]
    without, planted = [
        [
            block_s
            for number, block_s in enumerate(blocks_s)
            if is_planted(number * BLOCK, measured, in_halves) is has
        ]
        for has in (False, True)
    ]
    # The first block of each kind warms up.
    times = {"without": statistics.median(without[1:]), "planted": statistics.median(planted[1:])}
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
