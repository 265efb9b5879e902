"""A forward and backward pass captured once as a CUDA graph and replayed in every step."""

import json
import sys
import time

import torch
from torch import nn

STEPS = int(sys.argv[1])


def main() -> None:
    layers = [layer for _ in range(12) for layer in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU())]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(64, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model(x)
        loss = output.square().mean()
        loss.backward()
    times = []
    for _ in range(STEPS):
        x.normal_()
        graph.replay()  # truth: replay
        optimizer.step()
        times.append(time.perf_counter())
    torch.cuda.synchronize()
    print(json.dumps({"ends_s": times}))


if __name__ == "__main__":
    main()
