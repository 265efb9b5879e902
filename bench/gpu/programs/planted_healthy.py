"""Nothing to find: large products on Tensor Cores, batches that are there in time.

    python planted_healthy.py {bf16,tf32,item} STEPS

item  the loss is read back in every step; the GPU has so much to do in each that it costs nothing to speak of
"""

import sys

import torch
from planting import CAPTURED, DEVICE, steps
from torch import nn
from torch.utils.data import DataLoader, Dataset

KIND, STEPS = sys.argv[1], int(sys.argv[2])
WIDTH, ROWS, LAYERS = (8192, 4096, 4) if DEVICE == "cuda" else (64, 32, 2)


class Samples(Dataset):
    def __len__(self) -> int:
        return ROWS * (STEPS + CAPTURED)

    def __getitems__(self, indices: list[int]) -> list[torch.Tensor]:
        return [torch.full((len(indices), 16), float(indices[0]))]


def first(samples: list[torch.Tensor]) -> torch.Tensor:
    return samples[0]


def main() -> None:
    torch.set_float32_matmul_precision("high")
    layers = [nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]
    model = nn.Sequential(nn.Linear(16, WIDTH), *layers).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, fused=True)
    loader = DataLoader(
        Samples(), batch_size=ROWS, num_workers=2, pin_memory=DEVICE == "cuda", collate_fn=first
    )
    total = 0.0
    for _, batch in zip(steps(STEPS), loader, strict=True):
        batch = batch.to(DEVICE, non_blocking=True)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=KIND != "tf32"):
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if KIND == "item":
            total += loss.item()


if __name__ == "__main__":
    main()
