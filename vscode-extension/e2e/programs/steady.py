"""Train a small classifier on made-up points, at a steady pace: as many steps as the first argument says."""

import sys
import time

import torch
from torch import nn


def batch(size):
    points = torch.randn(size, 256)
    return points, (points.sum(dim=1) > 0).long()


def train(model, optimizer, steps):
    device = next(model.parameters()).device
    running = 0.0
    for _ in range(steps):
        points, labels = batch(1024)
        loss = nn.functional.cross_entropy(model(points.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        time.sleep(0.05)
    print("mean loss", running / steps)


def main():
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 2)).to(device)
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), int(sys.argv[1]))


main()
