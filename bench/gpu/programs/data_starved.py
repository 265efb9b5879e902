"""A model that waits for its DataLoader: two workers decode compressed samples on one slow line."""

import json
import sys
import time
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = int(sys.argv[1])
BATCH = 16


class Compressed(Dataset):
    def __init__(self, count: int) -> None:
        self.count = count
        self.blob = zlib.compress(torch.randn(1 << 18).numpy().tobytes(), 1)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        raw = bytearray(zlib.decompress(self.blob))  # truth: decode
        return torch.frombuffer(raw, dtype=torch.float32)[:4096] + index


def main() -> None:
    model = nn.Sequential(nn.Linear(4096, 1024), nn.GELU(), nn.Linear(1024, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    times = []
    loader = DataLoader(Compressed(BATCH * STEPS), batch_size=BATCH, num_workers=2, pin_memory=True)
    for batch in loader:  # truth: wait
        batch = batch.cuda(non_blocking=True)
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter())
    torch.cuda.synchronize()
    print(json.dumps({"ends_s": times}))


if __name__ == "__main__":
    main()
