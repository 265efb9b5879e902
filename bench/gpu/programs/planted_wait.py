"""A wait for the GPU in every step, so that the host launches nothing ahead.

    python planted_wait.py {item,mask,synchronize} STEPS

A step launches many small kernels, and then few large ones: while those run, the host could launch the next
step's small kernels.

item         the loss is read back for a running mean
mask         a boolean mask indexes a tensor, whose size the host has to know
synchronize  a call that waits for the device
"""

import sys

import torch
from planting import DEVICE, steps
from torch import nn

KIND, STEPS = sys.argv[1], int(sys.argv[2])
WIDTH, LAYERS, PRODUCTS = (4096, 30, 60) if DEVICE == "cuda" else (64, 2, 2)


def main() -> None:
    small = nn.Sequential(*[nn.Sequential(nn.LayerNorm(256), nn.GELU()) for _ in range(LAYERS)]).to(DEVICE)
    optimizer = torch.optim.SGD(small.parameters(), lr=1e-6)
    x = torch.randn(64, 256, device=DEVICE)
    matrix = torch.randn(WIDTH, WIDTH, device=DEVICE, dtype=torch.bfloat16)
    mean = 0.0
    for planted in steps(STEPS):
        loss = small(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        for _ in range(PRODUCTS):
            torch.mm(matrix, matrix)
        mean += wait(loss, x) if planted else 0.0


def wait(loss: torch.Tensor, x: torch.Tensor) -> float:
    if KIND == "item":
        return loss.item()  # planted: item
    if KIND == "mask":
        positive = x[x > 0]  # planted: mask
        return float(positive.numel())
    if DEVICE == "cuda":
        torch.cuda.synchronize()  # planted: synchronize
    return 0.0


if __name__ == "__main__":
    main()
