"""Memory that is given back to the driver, and taken from it again.

    python planted_allocator.py {empty_cache,sizes} STEPS

empty_cache  a call in every step that gives back all that is not in use
sizes        tensors that grow with every step, so that nothing that is cached is large enough for them, in so
             little memory that what is cached has to be given back
"""

import sys
from collections.abc import Sequence

import torch
from planting import DEVICE, steps
from torch import nn

KIND, STEPS = sys.argv[1], int(sys.argv[2])
WIDTH, ROWS, LAYERS = (2048, 4096, 6) if DEVICE == "cuda" else (64, 32, 2)
GROWTH = 512
"""Rows of a step: 2 MB each at the width used on a GPU, the least that is a size of its own there. What all
the steps remember has to fit."""
BUDGET_BYTES = 6 << 30
"""For ``sizes``: a few steps' worth of what is cached."""


def main() -> None:
    if KIND == "sizes" and DEVICE == "cuda":
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(BUDGET_BYTES / total)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)])
    model.to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    x = torch.randn(ROWS, WIDTH, device=DEVICE)
    histories = [x[:0].bfloat16() for _ in range(LAYERS)]
    for planted in steps(STEPS):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            output = model(x)
        output.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if planted and KIND == "sizes":
            histories = remember(histories, output.detach()[:GROWTH])
        if planted and KIND == "empty_cache":
            give_back()


def remember(histories: Sequence[torch.Tensor], output: torch.Tensor) -> list[torch.Tensor]:
    return [torch.cat([history, output]) for history in histories]  # planted: sizes


def give_back() -> None:
    if DEVICE == "cuda":
        torch.cuda.empty_cache()  # planted: empty_cache


if __name__ == "__main__":
    main()
