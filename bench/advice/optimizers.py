"""Optimizers and other work on every parameter: one kernel a parameter, or a few for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from case import Cases, Pair
from torch import nn

CASES = Cases()


def parameters(count: int = 200, size: int = 16_384) -> list[nn.Parameter]:
    made = [nn.Parameter(torch.randn(size, device="cuda")) for _ in range(count)]
    for parameter in made:
        parameter.grad = torch.randn_like(parameter)
    return made


def stepping(kind: Callable[..., torch.optim.Optimizer], **options: Any) -> Callable[[], object]:
    optimizer = kind(parameters(), **options)
    return lambda: optimizer.step()


@CASES.add("AdamW(foreach=False), 200 parameters of 16,384; the default (foreach)")
def single_tensor() -> Pair:
    return Pair(stepping(torch.optim.AdamW, foreach=False), stepping(torch.optim.AdamW))


@CASES.add("AdamW by default (foreach), 200 parameters of 16,384; fused=True")
def foreach_adamw() -> Pair:
    return Pair(stepping(torch.optim.AdamW), stepping(torch.optim.AdamW, fused=True))


@CASES.add("SGD with momentum by default (foreach), 200 parameters of 16,384; fused=True")
def foreach_sgd() -> Pair:
    momentum = {"lr": 0.01, "momentum": 0.9}
    return Pair(
        stepping(torch.optim.SGD, **momentum),
        stepping(torch.optim.SGD, fused=True, **momentum),
    )


def training(fused: bool | None, foreach: bool | None = None) -> Callable[[], object]:
    layers = [nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device="cuda") for _ in range(6)]
    model = nn.Sequential(*layers).to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), fused=fused, foreach=foreach)
    batch = torch.randn(16, 256, 512, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return step


@CASES.add("a training step of 6 encoder layers, AdamW(foreach=False); the default (foreach)")
def whole_step_single() -> Pair:
    return Pair(training(None, foreach=False), training(None))


@CASES.add("a training step of 6 encoder layers, AdamW by default (foreach); fused=True")
def whole_step() -> Pair:
    return Pair(training(None), training(True))


@CASES.add("zero_grad(set_to_none=False), 200 parameters of 16,384; zero_grad()")
def kept_gradients() -> Pair:
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    gradients = [parameter.grad for group in optimizer.param_groups for parameter in group["params"]]

    def give_back() -> None:
        for parameter, gradient in zip(optimizer.param_groups[0]["params"], gradients, strict=True):
            parameter.grad = gradient

    def found() -> None:
        give_back()
        optimizer.zero_grad(set_to_none=False)

    def advised() -> None:
        give_back()
        optimizer.zero_grad()

    return Pair(found, advised)


@CASES.add("p.grad.zero_() for each of 200 parameters; zero_grad()")
def zeroed_by_hand() -> Pair:
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    held = optimizer.param_groups[0]["params"]
    gradients = [parameter.grad for parameter in held]

    def found() -> None:
        for parameter in held:
            parameter.grad.zero_()

    def advised() -> None:
        for parameter, gradient in zip(held, gradients, strict=True):
            parameter.grad = gradient
        optimizer.zero_grad()
        for parameter, gradient in zip(held, gradients, strict=True):
            parameter.grad = gradient

    return Pair(found, advised)


@CASES.add("a moving average of 200 parameters, one lerp_ each; torch._foreach_lerp_")
def moving_average() -> Pair:
    with torch.no_grad():
        online = [parameter.detach() for parameter in parameters()]
        averaged = [torch.randn_like(parameter) for parameter in online]

    def found() -> None:
        for average, parameter in zip(averaged, online, strict=True):
            average.mul_(0.999).add_(parameter, alpha=0.001)

    return Pair(found, lambda: torch._foreach_lerp_(averaged, online, 0.001))


@CASES.add("the norm of 200 gradients by hand with item(); torch.nn.utils.clip_grad_norm_")
def norm_by_hand() -> Pair:
    held = parameters()

    def found() -> float:
        total = 0.0
        for parameter in held:
            if parameter.grad is not None:
                total += parameter.grad.norm().item() ** 2
        return float(total**0.5)

    return Pair(found, lambda: nn.utils.clip_grad_norm_(held, float("inf")))
