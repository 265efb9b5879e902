"""A small program that records itself; callers.json.gz is what it wrote with PyTorch 2.14.1 for the CPU."""

import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 256)
        self.second = nn.Linear(256, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.tanh(x)
        return self.second(x)


def batches(count):
    for _ in range(count):
        yield torch.randn(512, 256), torch.randint(10, (512,))


def main():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as recorder:
        for x, y in batches(3):
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step()
    recorder.export_chrome_trace(sys.argv[1])


main()
