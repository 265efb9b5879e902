"""What following loader workers costs them: a loader under ``warplint run``, and the same without it.

    python bench/worker_price.py [--rounds N] [--only NAME…]

Runs alternate. Each measures, in the program, the CPU time of its workers over an epoch (the loader does
nothing but load), which other processes on the machine disturb less than wall time; the least of each kind is
compared.
Written to bench/results/worker_price.txt. Without a GPU.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "worker_price.txt"
DATASETS = {
    "numpy crops": """
        image = self.image
        for _ in range(12):
            image = numpy.ascontiguousarray(image[::-1, ::-1])
            image = image * 0.99 + 0.5
        return torch.from_numpy(image[:64, :64].copy())
""",
    "short lines of Python": """
        total = 0
        for number in range(6000):
            total += number & 7
            if total > 1000:
                total -= 1000
        return torch.full((8,), float(total))
""",
    "a hundred calls": """
        values = [float(index)]
        for number in range(100):
            values = change(values)
        return torch.tensor(values)
""",
}
"""Name to the body of ``__getitem__``: work in native code, the worst case of plain Python, and small
functions."""
PROGRAM = """
import os, resource, sys, time
import numpy, torch
from torch.utils.data import DataLoader, Dataset

def change(values):
    first = values[0]
    second = first * 1.5 + 1.0
    return [second % 97.0]

class Data(Dataset):
    image = numpy.ones((256, 256), dtype=numpy.float32)

    def __len__(self):
        return {samples}

    def __getitem__(self, index):{body}

if __name__ == "__main__":
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model(torch.ones(8)).sum().backward()
    optimizer.step()
    started = time.perf_counter()
    for batch in DataLoader(Data(), batch_size=8, num_workers=2):
        pass
    wall = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(used.ru_utime + used.ru_stime, wall)
"""
SAMPLES = 4000
ROUNDS = 7


def measure(root: Path, followed: bool) -> tuple[float, float, int]:
    """CPU seconds of the workers, wall seconds of the epoch, and fetches followed, of one run."""
    # A window is never opened: nothing but the workers is followed.
    command = [sys.executable, "-m", "warplint", "run", "--after", "100000", "train.py"]
    if not followed:
        command = [sys.executable, "train.py"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    cpu, wall = map(float, done.stdout.split())
    return cpu, wall, _followed(root) if followed else 0


def _followed(root: Path) -> int:
    from warplint.capture.layout import WORKER_SUFFIX, RawReader, Record

    latest = max((root / ".warplint").iterdir(), key=lambda folder: folder.stat().st_mtime)
    return sum(
        record is Record.FETCH
        for path in latest.glob(f"*{WORKER_SUFFIX}")
        for record, _ in RawReader(path).records()
    )


def compare(name: str, rounds: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "pyproject.toml").write_text("")
        (root / "train.py").write_text(PROGRAM.format(samples=SAMPLES, body=DATASETS[name]))
        plain, followed = [], []
        for number in range(rounds):
            for with_us in (False, True) if number % 2 else (True, False):
                (followed if with_us else plain).append(measure(root, with_us))
    plain_s, followed_s = (min(cpu for cpu, _, _ in runs) for runs in (plain, followed))
    changes = [after[0] / before[0] - 1 for before, after in zip(plain, followed, strict=True)]
    fetches = statistics.median(count for *_, count in followed)
    return (
        f"{name}: least CPU time of the workers {plain_s:.2f} s plain, {followed_s:.2f} s followed: "
        f"{followed_s / plain_s - 1:+.1%} (single rounds {min(changes):+.1%} to {max(changes):+.1%}); "
        f"{fetches:.0f} of {SAMPLES // 8} fetches followed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="+", choices=DATASETS, default=list(DATASETS), metavar="NAME")
    args = parser.parse_args()
    import torch

    lines = [
        f"2 loader workers, {SAMPLES} samples in batches of 8, {args.rounds} rounds, alternating; "
        f"Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores"
    ]
    for name in args.only:
        lines.append(compare(name, args.rounds))
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
