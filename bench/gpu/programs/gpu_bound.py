"""A transformer in bf16, large enough to keep the GPU busy all the time."""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

STEPS = int(sys.argv[1])


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        mixed = self.attend(self.norm(x)).view(batch, length, 3, self.heads, -1)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.second(F.gelu(self.first(self.second_norm(x))))


def main() -> None:
    model = nn.Sequential(*[Block(2048, 16) for _ in range(8)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(8, 1024, 2048, device="cuda")
    times = []
    for _ in range(STEPS):
        with torch.autocast("cuda", dtype=torch.bfloat16):
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
