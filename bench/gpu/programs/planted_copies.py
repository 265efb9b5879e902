"""Copies of the batch that nothing is computed beside.

    python planted_copies.py {pageable,pinned} STEPS

pageable  from pageable memory, which the host waits for
pinned    from pinned memory, so much that the link is busy for most of the step
"""

import sys

import torch
from planting import DEVICE, steps
from torch import nn

KIND, STEPS = sys.argv[1], int(sys.argv[2])
WIDTH, MEGABYTES = (2048, {"pageable": 48, "pinned": 256}[KIND]) if DEVICE == "cuda" else (64, 1)


def main() -> None:
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    batch = torch.ones(MEGABYTES << 20, dtype=torch.uint8)
    if KIND == "pinned" and DEVICE == "cuda":
        batch = batch.pin_memory()
    x = torch.randn(256, WIDTH, device=DEVICE)
    for planted in steps(STEPS):
        scale = send(batch) if planted else 1.0
        loss = (model(x) * scale).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def send(batch: torch.Tensor) -> torch.Tensor:
    on_device = batch.to(DEVICE, non_blocking=True)  # planted: pageable, pinned
    return on_device[0].float()


if __name__ == "__main__":
    main()
