"""Matrix products in fp32 where bf16 would do.

python planted_precision.py {fp32,convolution} STEPS
"""

import sys

import torch
from planting import DEVICE, steps
from torch import nn

KIND, STEPS = sys.argv[1], int(sys.argv[2])
WIDTH, ROWS, IMAGES, SIDE = (4096, 2048, 64, 56) if DEVICE == "cuda" else (64, 32, 1, 8)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.convolve = nn.Conv2d(128, 128, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if KIND == "convolution":
            return self.convolve(x)  # planted: convolution
        return self.second(self.first(x))  # planted: fp32


def main() -> None:
    torch.backends.cudnn.allow_tf32 = False
    model = Model().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    shape = (IMAGES, 128, SIDE, SIDE) if KIND == "convolution" else (ROWS, WIDTH)
    x = torch.randn(shape, device=DEVICE)
    for planted in steps(STEPS):
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=not planted):
            output = model(x)
        output.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
