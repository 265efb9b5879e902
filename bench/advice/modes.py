"""Modes, memory and layout: gradients that nobody needs, caches emptied, biases that BatchNorm removes."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch
import torch.nn.functional as F
from case import Cases, Pair
from torch import nn

CASES = Cases()


def blocks(bias: bool = True, channels: int = 128, count: int = 8) -> nn.Sequential:
    layers: list[nn.Module] = []
    for _ in range(count):
        layers += [
            nn.Conv2d(channels, channels, 3, padding=1, bias=bias),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers).cuda()


def images(channels: int = 128, size: int = 56) -> torch.Tensor:
    return torch.randn(32, channels, size, size, device="cuda")


@CASES.add("evaluation of 8 conv blocks, [32, 128, 56, 56], with gradients on; under no_grad")
def evaluation() -> Pair:
    model, batch = blocks().eval(), images()

    def advised() -> torch.Tensor:
        with torch.no_grad():
            result: torch.Tensor = model(batch)
        return result

    return Pair(lambda: model(batch), advised)


@CASES.add("evaluation of 20 linear layers of 512, batch 64, with gradients on; under no_grad")
def small_evaluation() -> Pair:
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(20)]).cuda().eval()
    batch = torch.randn(64, 512, device="cuda")

    def advised() -> torch.Tensor:
        with torch.no_grad():
            result: torch.Tensor = model(batch)
        return result

    return Pair(lambda: model(batch), advised)


@CASES.add("the same under no_grad; under inference_mode")
def inference() -> Pair:
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(20)]).cuda().eval()
    batch = torch.randn(64, 512, device="cuda")

    def found() -> torch.Tensor:
        with torch.no_grad():
            result: torch.Tensor = model(batch)
        return result

    def advised() -> torch.Tensor:
        with torch.inference_mode():
            result: torch.Tensor = model(batch)
        return result

    return Pair(found, advised)


def training(
    model: nn.Module, batch: torch.Tensor, after: Callable[[], object] = lambda: None
) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        after()

    return step


@CASES.add("a training step of 8 conv blocks, convolutions before BatchNorm with bias; without")
def conv_bias() -> Pair:
    return Pair(training(blocks(bias=True), images()), training(blocks(bias=False), images()))


@CASES.add("a training step of 8 conv blocks, torch.cuda.empty_cache() after each; never")
def emptied() -> Pair:
    return Pair(
        training(blocks(), images(), torch.cuda.empty_cache),
        training(blocks(), images()),
    )


@CASES.add("a training step of 8 conv blocks, gc.collect() after each; never")
def collected() -> Pair:
    return Pair(
        training(blocks(), images(), gc.collect),
        training(blocks(), images()),
    )


@CASES.add("a training step of 8 conv blocks in bf16, contiguous; channels_last")
def layout() -> Pair:
    last = torch.channels_last
    found = training(blocks().bfloat16(), images().bfloat16())
    advised = training(
        blocks().bfloat16().to(memory_format=last),
        images().bfloat16().contiguous(memory_format=last),
    )
    return Pair(found, advised)


@CASES.add("100 losses of 8 small layers added up with their graphs; detached")
def kept_graphs() -> Pair:
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(8)]).cuda()
    batch = torch.randn(256, 512, device="cuda")

    def adding(detached: bool) -> Callable[[], torch.Tensor]:
        def step() -> torch.Tensor:
            total = torch.zeros((), device="cuda")
            for _ in range(100):
                loss = model(batch).square().mean()
                total = total + (loss.detach() if detached else loss)
            return total

        return step

    return Pair(adding(False), adding(True), per_round=2)


@CASES.add("log(softmax(x)), [8192, 1000], forward and backward; log_softmax")
def log_of_softmax() -> Pair:
    scores = torch.randn(8192, 1000, device="cuda", requires_grad=True)
    return Pair(
        lambda: torch.log(F.softmax(scores, dim=-1)).sum().backward(),
        lambda: F.log_softmax(scores, dim=-1).sum().backward(),
    )


@CASES.add("repeat only to broadcast, [64, 1, 1024] to 256 rows, then a sum; expand")
def repeated() -> Pair:
    row, batch = torch.randn(64, 1, 1024, device="cuda"), torch.randn(64, 256, 1024, device="cuda")
    return Pair(lambda: batch + row.repeat(1, 256, 1), lambda: batch + row.expand(-1, 256, -1))
