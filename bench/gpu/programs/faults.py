"""A training loop with one planted fault, which measures the fault's cost itself before anything is captured.

    python faults.py {decode,wait,tiny,copy} STEPS

In the first STEPS steps the fault comes and goes in blocks; what a step takes longer with it is its cost.
From then on it stays, to be captured. The last line of output is JSON: the fault's line and its cost.
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
    return step >= STEPS or step // BLOCK % 2 == 1


class Samples(Dataset):
    """Compressed samples; without the fault they need no decoding."""

    def __init__(self) -> None:
        self.blob = zlib.compress(torch.randn(1 << 18).numpy().tobytes(), 1)

    def __len__(self) -> int:
        return BATCH * (STEPS + CAPTURED)

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
    with_fault, without = [], []
    for step in range(2 * BLOCK, STEPS):
        if step % BLOCK >= SETTLING:
            (with_fault if planted(step) else without).append(ends[step] - ends[step - 1])
    return statistics.median(with_fault) - statistics.median(without)


if __name__ == "__main__":
    main()
