"""A training loop with three planted waits of about 20 ms a step, which also times them itself.

The last line of output is JSON: for each planted line its number and the seconds the program itself measured
on it in each step (``perf_counter`` around the line, the GPU drained before it).
"""

import json
import sys
import time
from pathlib import Path

import torch
from torch import nn

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
WAIT_S = 0.02


def cycles_for(seconds: float) -> int:
    """How many cycles ``torch.cuda._sleep`` needs to keep the GPU busy for that long."""
    cycles = 100_000_000
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(cycles)
    start.record()
    torch.cuda._sleep(cycles)
    end.record()
    torch.cuda.synchronize()
    return int(cycles * seconds * 1e3 / start.elapsed_time(end))


def pageable_for(seconds: float) -> torch.Tensor:
    """Host memory whose blocking copy to the GPU takes about that long."""
    probe = torch.ones(64 << 20, dtype=torch.uint8)
    probe.to("cuda")
    begin = time.perf_counter()
    for _ in range(4):
        probe.to("cuda")
    torch.cuda.synchronize()
    each = (time.perf_counter() - begin) / 4
    return torch.ones(int(probe.numel() * seconds / each), dtype=torch.uint8)


def main() -> None:
    model = nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(256, 1024, device="cuda")
    cycles, host = cycles_for(WAIT_S), pageable_for(WAIT_S)
    host.to("cuda")
    measured: dict[str, list[float]] = {"sleep": [], "synchronize": [], "copy": []}
    for _ in range(STEPS):
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        t0 = time.perf_counter()
        time.sleep(WAIT_S)  # planted: sleep
        t1 = time.perf_counter()
        torch.cuda._sleep(cycles)
        t2 = time.perf_counter()
        torch.cuda.synchronize()  # planted: synchronize
        t3 = time.perf_counter()
        moved = host.to("cuda")  # planted: copy
        t4 = time.perf_counter()
        del moved
        measured["sleep"].append(t1 - t0)
        measured["synchronize"].append(t3 - t2)
        measured["copy"].append(t4 - t3)
    lines = {}
    for number, line in enumerate(Path(__file__).read_text(encoding="utf-8").splitlines(), 1):
        name = line.rpartition("# planted: ")[2].strip()
        if "# planted: " in line and name in measured:
            lines[name] = {"line": number, "seconds": measured[name]}
    print(json.dumps(lines))


if __name__ == "__main__":
    main()
