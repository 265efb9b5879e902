"""Tensors made on the host, and made where they are used."""

from __future__ import annotations

import torch
from case import Cases, Pair

CASES = Cases()


@CASES.add("torch.arange(1024).to('cuda'); torch.arange(1024, device='cuda')")
def positions() -> Pair:
    return Pair(lambda: torch.arange(1024).to("cuda"), lambda: torch.arange(1024, device="cuda"))


@CASES.add("torch.rand(1_000_000).to('cuda'); torch.rand(1_000_000, device='cuda')")
def noise() -> Pair:
    return Pair(lambda: torch.rand(1_000_000).to("cuda"), lambda: torch.rand(1_000_000, device="cuda"))


@CASES.add("torch.eye(4096).to('cuda'); torch.eye(4096, device='cuda')")
def identity() -> Pair:
    return Pair(lambda: torch.eye(4096).to("cuda"), lambda: torch.eye(4096, device="cuda"))


@CASES.add("torch.tensor(3.0, device='cuda'); torch.full((), 3.0, device='cuda')")
def number() -> Pair:
    return Pair(lambda: torch.tensor(3.0, device="cuda"), lambda: torch.full((), 3.0, device="cuda"))


@CASES.add("torch.tensor(list of 1,024 ints, device='cuda') each time; made once")
def numbers() -> Pair:
    values = list(range(1024))
    once = torch.tensor(values, device="cuda")
    return Pair(lambda: torch.tensor(values, device="cuda"), lambda: once)


@CASES.add("a causal mask of 1024 by 1024 rebuilt each time; made once")
def mask() -> Pair:
    once = torch.triu(torch.ones(1024, 1024, device="cuda", dtype=torch.bool), 1)
    return Pair(lambda: torch.triu(torch.ones(1024, 1024, device="cuda", dtype=torch.bool), 1), lambda: once)


@CASES.add("an attribute of 1,024 by 1,024 on the CPU moved each time; a buffer")
def attribute() -> Pair:
    plain = torch.randn(1024, 1024)
    buffer = plain.cuda()
    return Pair(lambda: plain.to("cuda"), lambda: buffer)


@CASES.add("x.cpu().numpy() and back, 1,000,000 values, to clip them; torch.clamp")
def round_trip() -> Pair:
    values = torch.randn(1_000_000, device="cuda")
    return Pair(
        lambda: torch.from_numpy(values.cpu().numpy().clip(-1, 1)).to("cuda"), lambda: values.clamp(-1, 1)
    )
