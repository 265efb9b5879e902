"""A host that does not keep the GPU busy, though nothing waits for it.

    python planted_launch.py {tiny,optimizer,python} STEPS

tiny       one line updates averages of many small parameters, one launch after the other
optimizer  an optimizer that updates every parameter by kernels of its own
python     plain Python on one line, which launches nothing
"""

import sys
from collections.abc import Sequence

import torch
from planting import DEVICE, steps
from torch import nn

KIND, STEPS = sys.argv[1], int(sys.argv[2])
PARAMETERS, WIDTH = (300, 1024) if DEVICE == "cuda" else (20, 64)
ROUNDS = 80_000


def main() -> None:
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)).to(DEVICE)
    many = [nn.Parameter(torch.zeros(256, device=DEVICE)) for _ in range(PARAMETERS)]
    averages = [torch.zeros(256, device=DEVICE) for _ in range(PARAMETERS)]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    slow = torch.optim.Adam(many, lr=1e-6, foreach=False, fused=False)
    for each in many:
        each.grad = torch.zeros_like(each)
    x = torch.randn(256, WIDTH, device=DEVICE)
    for planted in steps(STEPS):
        loss = model(x).square().mean()
        loss.backward()
        if planted and KIND == "tiny":
            follow(averages, many)
        if planted and KIND == "python":
            count_digits(ROUNDS)
        if planted and KIND == "optimizer":
            slow.step()  # planted: optimizer
        optimizer.step()
        optimizer.zero_grad()


@torch.no_grad()
def follow(averages: Sequence[torch.Tensor], many: Sequence[nn.Parameter]) -> None:
    for average, parameter in zip(averages, many, strict=True):
        average.mul_(0.999).add_(parameter, alpha=0.001)  # planted: tiny


def count_digits(rounds: int) -> int:
    return sum(map(len, map(str, range(rounds))))  # planted: python


if __name__ == "__main__":
    main()
