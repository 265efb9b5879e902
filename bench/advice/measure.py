"""Measure what the rules' advice gains, on a machine with a GPU: `python bench/advice/measure.py [FAMILY…]`.

A family is a file of this folder. Of each case the program as found and as advised are timed in turn, five
rounds each, after two that are not counted; a line has the medians a step, their ratio, and the most memory
that PyTorch held beyond what was there before. Ratios carry to other machines better than times do.
"""

from __future__ import annotations

import gc
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from case import Case, Cases, Pair

ROUNDS = 5
WARM_ROUNDS = 2
FAMILIES = ("optimizers", "modes", "attention", "loops", "feed", "precision", "settings", "placement")


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}\n")
    print(f"{'':92s}{'found':>12s}{'advised':>12s}{'ratio':>8s}{'memory, MB':>18s}")
    for family in sys.argv[1:] or FAMILIES:
        print(f"\n{family}")
        cases: Cases = importlib.import_module(family).CASES
        for case in cases.all:
            print(line_of(case), flush=True)


def line_of(case: Case) -> str:
    try:
        return f"  {case.about:90s}{measured(case.prepare())}"
    except RuntimeError as error:
        return f"  {case.about:90s}not measured: {str(error).splitlines()[0][:80]}"
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def measured(pair: Pair) -> str:
    found_us: list[float] = []
    advised_us: list[float] = []
    for _ in range(WARM_ROUNDS):
        round_us(pair.found, pair.per_round)
        round_us(pair.advised, pair.per_round)
    for _ in range(ROUNDS):
        found_us.append(round_us(pair.found, pair.per_round))
        advised_us.append(round_us(pair.advised, pair.per_round))
    found, advised = statistics.median(found_us), statistics.median(advised_us)
    memory = f"{peak_megabytes(pair.found):8.0f} {peak_megabytes(pair.advised):8.0f}"
    return f"{found:9.1f} us{advised:9.1f} us{found / advised:7.2f}x {memory}"


def round_us(step: Callable[[], object], times: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / times * 1e6


def peak_megabytes(step: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
