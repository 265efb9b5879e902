"""A training loop with one planted fault, which measures the fault's cost itself beside what is captured.

    python faults.py {decode,wait,tiny,copy} STEPS

In the first STEPS steps, and in as many at the end, the fault comes and goes in blocks; what a step takes
longer with it is its cost. In the CAPTURED steps between, it stays. So a host whose speed drifts is met on
both sides.
The last line of output is JSON: the fault's line and its cost.
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

FAULT, STEPS = sys.argv[1], int(sys.argv[2])
CAPTURED = 60
BLOCK, SETTLING = 20, 6
"""Steps of a block, and those at its start that are not counted."""
BATCH = 8


def planted(step: int) -> bool:
    return STEPS <= step < STEPS + CAPTURED or in_block(step) // BLOCK % 2 == 1


def in_block(step: int) -> int:
    """The step's number among those before the captured ones, or among those after them."""
    return step if step < STEPS else step - STEPS - CAPTURED


class Samples(Dataset):
    """Compressed samples; without the fault they need no decoding."""

    def __init__(self) -> None:
        self.blob = zlib.compress(torch.randn(1 << 18).numpy().tobytes(), 1)

    def __len__(self) -> int:
        return BATCH * (2 * STEPS + CAPTURED)

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
    yield from DataLoader(Samples(), batch_size=BATCH, num_workers=2, pin_memory=True)  # planted: data


def nudge(small: torch.Tensor, times: int) -> torch.Tensor:
    for _ in range(times):
        small = small * 0.5 + 1.0  # planted: tiny
    return small


def line_of(fault: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# planted: {fault}"))


def cost_s(ends: list[float]) -> float:
    """Seconds a step: the median over pairs of blocks, the first of which is without the fault."""
    return statistics.median(
        step_s(ends, start + BLOCK) - step_s(ends, start)
        for first in (0, STEPS + CAPTURED)
        for start in range(first + 2 * BLOCK, first + STEPS - BLOCK, 2 * BLOCK)
    )


def step_s(ends: list[float], start: int) -> float:
    """The median step of the block that begins with step ``start``, once it has settled."""
    return statistics.median(ends[step] - ends[step - 1] for step in range(start + SETTLING, start + BLOCK))


if __name__ == "__main__":
    main()
