"""A loader that does not keep up.

    python planted_loader.py {workers,inline,storage} STEPS

workers  one line of the dataset decodes for too long, in two workers
inline   the same line, on the program's own thread
storage  one line waits for slow storage, in two workers

Until the loader is used, in the second half of STEPS, all batches are one that is there already.
"""

import sys
import time
import zlib

import torch
from planting import CAPTURED, DEVICE, steps
from torch import nn
from torch.utils.data import DataLoader, Dataset

KIND, STEPS = sys.argv[1], int(sys.argv[2])
BATCH = 16
WIDTH, NUMBERS = (4096, 1 << 17) if DEVICE == "cuda" else (64, 1 << 15)
"""``NUMBERS`` are what a sample holds before it is packed."""
READ_S = 0.003


class Samples(Dataset):
    """A sample is worth a millisecond or two of decoding, or of waiting for its file."""

    def __init__(self) -> None:
        self.blob = zlib.compress(torch.randn(NUMBERS).numpy().tobytes(), 1)

    def __len__(self) -> int:
        return BATCH * (STEPS + CAPTURED)

    def __getitem__(self, index: int) -> torch.Tensor:
        sample = torch.full((WIDTH,), float(index))
        sample[0] = self.wait_for_file(index) if KIND == "storage" else self.decode()
        return sample

    def decode(self) -> float:
        raw = zlib.decompress(self.blob)  # planted: workers, inline
        return float(raw[0])

    def wait_for_file(self, index: int) -> float:
        time.sleep(READ_S)  # planted: storage
        return float(index)


def main() -> None:
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 1)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    workers = 0 if KIND == "inline" else 2
    loader = DataLoader(Samples(), batch_size=BATCH, num_workers=workers, pin_memory=DEVICE == "cuda")
    ready = torch.zeros(BATCH, WIDTH)
    batches = None
    for planted in steps(STEPS, in_halves=True):
        if planted and batches is None:
            batches = iter(loader)
        batch = ready if batches is None else next(batches)
        loss = model(batch.to(DEVICE, non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
