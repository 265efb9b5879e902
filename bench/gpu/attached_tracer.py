"""What torch's profiler leaves behind: the steps of a launch-bound loop before, inside and after its windows.

    python bench/gpu/attached_tracer.py

Nothing of Warplint runs. Each variant is a process of its own: ``kept`` is torch's default, ``let_go`` has
Kineto detach CUPTI (TEARDOWN_CUPTI=1); ``light`` records no CPU operators; ``graph`` replays a graph too.
Milliseconds are medians of 60 steps of 500 tiny kernels, synchronized. One JSON object a variant.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

VARIANTS = ("kept", "let_go", "light kept", "light let_go", "graph kept", "graph let_go")
WINDOWS, STEPS, INSIDE_STEPS, KERNELS = 3, 60, 10, 500


def measure(variant: str) -> dict[str, Any]:
    import torch
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(64, device="cuda")
    graph = captured(x) if "graph" in variant else None

    def step_ms(steps: int) -> float:
        times = []
        for _ in range(steps):
            begin = time.perf_counter()
            y = x
            for _ in range(KERNELS):
                y = y + 1
            if graph is not None:
                graph.replay()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) * 1e3)
        return round(statistics.median(times), 2)

    cpu = [] if "light" in variant else [ProfilerActivity.CPU]
    step_ms(STEPS)
    found: dict[str, Any] = {"variant": variant, "before_ms": step_ms(STEPS), "inside_ms": [], "after_ms": []}
    for _ in range(WINDOWS):
        window = profile(activities=[*cpu, ProfilerActivity.CUDA])
        window.start()
        found["inside_ms"].append(step_ms(INSIDE_STEPS))
        window.stop()
        del window
        found["after_ms"].append(step_ms(STEPS))
    return found


def captured(x: Any) -> Any:
    import torch

    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(50):
            x = x + 1
    return graph


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    for variant in VARIANTS:
        environment = os.environ | {"TEARDOWN_CUPTI": "1" if "let_go" in variant else "0"}
        subprocess.run([sys.executable, __file__, variant], env=environment, check=True)


if __name__ == "__main__":
    main()
