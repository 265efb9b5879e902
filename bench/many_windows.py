"""Open and close many capture windows in one process, and say what grew.

    python bench/many_windows.py [WINDOWS]

Prints, every tenth of the way: resident memory, free GPU memory, open files, threads. A window's trace is
deleted as soon as it is written. On a GPU where there is one.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
from pathlib import Path

import torch

from warplint.capture.session import Session
from warplint.capture.settings import Settings

WINDOWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
STEPS_A_WINDOW = 2


class ManyWindows:
    """A session whose windows are opened by hand, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        root = str(Path(__file__).parent)
        self.session = Session(Settings(folder=str(folder), root=root, cwd=root, after=1 << 60))
        self.session.begin()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)]).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.x = torch.ones(8, 64, device=device)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.model(self.x).sum().backward()
        self.optimizer.step()

    def window(self) -> None:
        self.session._open_window("a benchmark asked for it")
        for _ in range(STEPS_A_WINDOW):
            self.step()
        self.session._close_window("a benchmark asked for it", 0)
        for trace in self.folder.glob("*.trace.json"):
            trace.unlink()

    def describe(self, window: int) -> str:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        resident_mb = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        files = sum(1 for _ in Path("/proc/self/fd").iterdir())
        free = (
            f", {torch.cuda.mem_get_info()[0] >> 20} MB of the GPU free" if torch.cuda.is_available() else ""
        )
        return (
            f"after {window} windows: {resident_mb:.0f} MB resident{free}, {files} files open, "
            f"{threading.active_count()} threads"
        )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        many = ManyWindows(Path(folder))
        for _ in range(20):
            many.step()
        for window in range(WINDOWS):
            if window % max(1, WINDOWS // 10) == 0:
                print(many.describe(window), flush=True)
            many.window()
        print(many.describe(WINDOWS))
        many.session.finish()


if __name__ == "__main__":
    main()
