"""A small transformer in fp32 at batch 1: hundreds of kernels of a few microseconds, launched one by one."""

import json
import sys
import time

import torch
from torch import nn

STEPS = int(sys.argv[1])


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attend = nn.Linear(width, 3 * width)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.attend(self.norm(x)).chunk(3, dim=-1)
        weights = (query @ key.transpose(1, 2)) / query.shape[-1] ** 0.5
        x = x + weights.softmax(dim=-1) @ value
        hidden = self.first(x)
        hidden = 0.5 * hidden * (1 + torch.tanh(0.8 * (hidden + 0.04 * hidden**3)))
        return x + self.second(hidden)


def main() -> None:
    model = nn.Sequential(*[Block(256) for _ in range(12)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(1, 64, 256, device="cuda")
    times = []
    for _ in range(STEPS):
        output = model(x)
        loss = (output - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter())
    torch.cuda.synchronize()
    print(json.dumps({"ends_s": times}))


if __name__ == "__main__":
    main()
