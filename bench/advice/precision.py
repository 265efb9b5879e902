"""Precision: what runs on Tensor Cores, and which sizes do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from case import Cases, Pair
from torch import nn

CASES = Cases()


def with_tf32(work: Callable[[], object], precision: str) -> Callable[[], object]:
    def step() -> object:
        torch.set_float32_matmul_precision(precision)
        return work()

    return step


@CASES.add("a product of 4096 by 4096 in float32, 'highest' (the default); 'high'")
def product() -> Pair:
    left, right = (torch.randn(4096, 4096, device="cuda") for _ in range(2))
    return Pair(with_tf32(lambda: left @ right, "highest"), with_tf32(lambda: left @ right, "high"))


def encoder(cast: bool) -> Callable[[], object]:
    layers = [nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, device="cuda") for _ in range(6)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(32, 512, 1024, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16) if cast else nullcontext():
            loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()

    return step


@CASES.add(
    "a training step of 6 encoder layers of 1024 on 16,384 tokens in float32, 'highest' (the default); 'high'"
)
def tf32_step() -> Pair:
    return Pair(with_tf32(encoder(False), "highest"), with_tf32(encoder(False), "high"))


@CASES.add("the same, 'high'; bf16 autocast")
def autocast_step() -> Pair:
    return Pair(with_tf32(encoder(False), "high"), with_tf32(encoder(True), "high"))


def head(words: int) -> Callable[[], object]:
    layer = nn.Linear(768, words, bias=False, device="cuda", dtype=torch.bfloat16)
    tokens = torch.randn(8192, 768, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    return lambda: layer(tokens).sum().backward()


@CASES.add("Linear(768, 50257) in bf16 on 8,192 rows, forward and backward; 50,304 columns")
def vocabulary() -> Pair:
    return Pair(head(50257), head(50304))


@CASES.add("a product of 2048 by 2048 in float64; float32 'highest'")
def double() -> Pair:
    left, right = (torch.randn(2048, 2048, device="cuda", dtype=torch.float64) for _ in range(2))
    singles = left.float(), right.float()
    return Pair(
        with_tf32(lambda: left @ right, "highest"),
        with_tf32(lambda: singles[0] @ singles[1], "highest"),
    )


@CASES.add("10,000,000 float64 values times two; float32")
def double_elements() -> Pair:
    doubles = torch.randn(10_000_000, device="cuda", dtype=torch.float64)
    singles = doubles.float()
    return Pair(lambda: doubles * 2, lambda: singles * 2)


def small_steps(scaled: bool) -> Callable[[], object]:
    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(100)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=scaled)
    batch = torch.randn(64, 256, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(batch).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


@CASES.add("a training step of 200 small parameters in bf16 autocast with GradScaler; without")
def scaler_with_bf16() -> Pair:
    return Pair(small_steps(True), small_steps(False))


def repeated_autocast(outer: bool) -> Callable[[], object]:
    layers = [nn.Linear(1024, 1024, device="cuda") for _ in range(8)]
    batch = torch.randn(64, 1024, device="cuda")

    def each() -> torch.Tensor:
        value = batch
        for _ in range(4):
            for layer in layers:
                with torch.autocast("cuda", torch.bfloat16):
                    value = layer(value)
        return value

    def step() -> torch.Tensor:
        if not outer:
            return each()
        with torch.autocast("cuda", torch.bfloat16):
            return each()

    return step


@CASES.add(
    "8 layers used 4 times each, autocast entered at each use; once around all (weights are cast once)"
)
def inner_autocast() -> Pair:
    return Pair(repeated_autocast(False), repeated_autocast(True))
