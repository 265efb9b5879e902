"""A forward and backward pass captured once as a CUDA graph and replayed in every step.

    python cuda_graph.py STEPS [eager]

With ``eager`` the same lines run in every step, without a graph.
"""

import json
import sys
import time

import torch
from torch import nn

STEPS, EAGER = int(sys.argv[1]), "eager" in sys.argv


def pass_over(model: nn.Module, x: torch.Tensor) -> None:
    output = model(x)
    loss = output.square().mean()
    loss.backward()


def captured(model: nn.Module, x: torch.Tensor, optimizer: torch.optim.Optimizer) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            pass_over(model, x)
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pass_over(model, x)
    return graph


def main() -> None:
    layers = [layer for _ in range(12) for layer in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU())]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(64, 512, device="cuda")
    graph = None if EAGER else captured(model, x, optimizer)
    times = []
    for _ in range(STEPS):
        x.normal_()
        if graph is None:
            optimizer.zero_grad(set_to_none=True)
            pass_over(model, x)
        else:
            graph.replay()
        optimizer.step()
        times.append(time.perf_counter())
    torch.cuda.synchronize()
    print(json.dumps({"ends_s": times}))


if __name__ == "__main__":
    main()
