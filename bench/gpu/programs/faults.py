"""A training loop with one planted fault, which measures the fault's cost itself beside what is captured.

    python faults.py {decode,wait,tiny,copy}

The fault comes, stays while a window is captured, and goes. Its cost is what steps take longer with it, as
many before the window as after it, than without it, as many before it comes as after it has gone. So a host
whose speed drifts is met on both sides. The last line of output is JSON: the fault's line and its cost.
"""

import json
import statistics
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAULT = sys.argv[1]
WARM_UP = 20
"""Steps, and as many with the fault before it comes, so that nothing is new to either kind."""
COUNTED = 32
"""Steps on each side of a change."""
SETTLING = 8
"""Steps that are not counted after each change: loaders fetch a few batches ahead."""
COMES = 2 * WARM_UP + SETTLING + COUNTED
OPENS = COMES + SETTLING + COUNTED
"""From here on a window may be open."""
CLOSED = OPENS + 40
"""It is closed and written before this step."""
GOES = CLOSED + COUNTED
STEPS = GOES + SETTLING + COUNTED
BATCH = 8


def planted(step: int) -> bool:
    return WARM_UP <= step < 2 * WARM_UP or COMES <= step < GOES


class Samples(Dataset):
    """Compressed samples; without the fault they need no decoding."""

    def __init__(self) -> None:
        self.blob = zlib.compress(torch.randn(1 << 18).numpy().tobytes(), 1)

    def __len__(self) -> int:
        return BATCH * STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        sample = torch.full((256,), float(index))
        if FAULT == "decode" and planted(index // BATCH):
            raw = bytearray(zlib.decompress(self.blob))  # planted: decode
            sample[0] = raw[0]
        return sample


def spin(seconds: float) -> None:
    """Host work that needs no GPU."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def main() -> None:
    model = nn.Linear(256, 256).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    matrix = torch.randn(6144, 6144, device="cuda")
    small = torch.zeros(64, device="cuda")
    pageable = torch.ones(48 << 20, dtype=torch.uint8)
    ends = []
    for step, batch in enumerate(batches()):
        loss = model(batch.cuda(non_blocking=True)).mean()
        loss.backward()
        if FAULT == "wait":
            spin(0.01)
            for _ in range(8):
                torch.mm(matrix, matrix)
            if planted(step):
                torch.cuda.synchronize()  # planted: wait
        if FAULT == "tiny" and planted(step):
            small = nudge(small, 600)
        if FAULT == "copy" and planted(step):
            moved = pageable.cuda()  # planted: copy
            del moved
        optimizer.step()
        optimizer.zero_grad()
        ends.append(time.perf_counter())
    print(json.dumps({"line": line_of(FAULT), "cost_s": cost_s(ends)}))


def batches() -> Iterator[torch.Tensor]:
    yield from DataLoader(Samples(), batch_size=BATCH, num_workers=2, pin_memory=True)


def nudge(small: torch.Tensor, times: int) -> torch.Tensor:
    for _ in range(times):
        small = small * 0.5 + 1.0  # planted: tiny
    return small


def line_of(fault: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# planted: {fault}"))


def cost_s(ends: list[float]) -> float:
    """Seconds a step."""
    with_fault = step_s(ends, OPENS - COUNTED, CLOSED)
    return with_fault - step_s(ends, COMES - COUNTED, GOES + SETTLING)


def step_s(ends: list[float], *firsts: int) -> float:
    """The mean: with two workers batches come in pairs, so that every other step is long."""
    return statistics.fmean(
        ends[step] - ends[step - 1] for first in firsts for step in range(first, first + COUNTED)
    )


if __name__ == "__main__":
    main()
