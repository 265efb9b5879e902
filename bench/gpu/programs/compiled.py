"""A model and its loss compiled by torch.compile: one line of the source is part of several kernels."""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

STEPS = int(sys.argv[1])


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm(x)
        hidden = self.first(normed)
        hidden = hidden * torch.sigmoid(1.7 * hidden)
        hidden = hidden + hidden.sin()
        mixed = self.second(hidden)
        return x + F.dropout(mixed, 0.1, self.training)


def loss_of(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    error = (output - target).square()
    return error.mean() + 0.1 * error.amax(dim=-1).mean()


def main() -> None:
    model = torch.compile(nn.Sequential(*[Block(1024) for _ in range(4)]).cuda())
    measure = torch.compile(loss_of)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(32, 256, 1024, device="cuda")
    times = []
    for _ in range(STEPS):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            output = model(x)
        loss = measure(output.float(), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter())
    torch.cuda.synchronize()
    print(json.dumps({"ends_s": times}))


if __name__ == "__main__":
    main()
