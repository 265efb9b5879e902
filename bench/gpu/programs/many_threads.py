"""The main thread trains; three others infer on streams of their own, and four do plain Python work."""

import json
import sys
import threading
import time

import torch
from torch import nn

STEPS = int(sys.argv[1])
done = threading.Event()


def infer(model: nn.Module, x: torch.Tensor) -> None:
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        while not done.is_set():
            output = model(x)
            output = output.sigmoid()
            torch.cuda.current_stream().synchronize()
            time.sleep(0.001)


def work() -> None:
    total = 0
    while not done.is_set():
        for number in range(200):
            total += number * number
        time.sleep(0.001)


def main() -> None:
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda()
    served = nn.Sequential(*[nn.Linear(512, 512) for _ in range(4)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    x, y = torch.randn(512, 1024, device="cuda"), torch.randn(64, 512, device="cuda")
    threads = [threading.Thread(target=infer, args=(served, y)) for _ in range(3)]
    threads += [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    times = []
    for _ in range(STEPS):
        output = model(x)
        loss = output.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter())
    torch.cuda.synchronize()
    done.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"ends_s": times}))


if __name__ == "__main__":
    main()
