"""Python loops over rows, and one call for all of them."""

from __future__ import annotations

import torch
from case import Cases, Pair
from torch import nn

CASES = Cases()


@CASES.add("256 rows of 512 handled one by one: out[i] = relu(2 * x[i]); the whole tensor")
def rows() -> Pair:
    batch = torch.randn(256, 512, device="cuda")
    out = torch.empty_like(batch)

    def each() -> None:
        for i in range(batch.size(0)):
            out[i] = torch.relu(batch[i] * 2)

    return Pair(each, lambda: out.copy_(torch.relu(batch * 2)))


@CASES.add("stack([x[i].softmax(-1) for i in range(256)]); x.softmax(-1)")
def stacked() -> Pair:
    batch = torch.randn(256, 512, device="cuda")
    return Pair(
        lambda: torch.stack([batch[i].softmax(-1) for i in range(batch.size(0))]),
        lambda: batch.softmax(-1),
    )


@CASES.add("256 products a[i] @ b[i] of 64 by 64; one bmm")
def products() -> Pair:
    left, right = (torch.randn(256, 64, 64, device="cuda") for _ in range(2))
    return Pair(lambda: [left[i] @ right[i] for i in range(256)], lambda: torch.bmm(left, right))


@CASES.add("LSTMCell over 256 steps, batch 32, 256 units; nn.LSTM")
def cells() -> Pair:
    cell, whole = nn.LSTMCell(256, 256, device="cuda"), nn.LSTM(256, 256, device="cuda")
    sequence = torch.randn(256, 32, 256, device="cuda")

    def each() -> torch.Tensor:
        state = (sequence.new_zeros(32, 256), sequence.new_zeros(32, 256))
        out = []
        for step in sequence:
            state = cell(step, state)
            out.append(state[0])
        return torch.stack(out)

    return Pair(each, lambda: whole(sequence)[0], per_round=5)


@CASES.add("256 results joined by cat one after the other, 64 rows of 256 each; a list and one cat")
def joined() -> Pair:
    part = torch.randn(64, 256, device="cuda")

    def growing() -> torch.Tensor:
        whole = part[:0]
        for _ in range(256):
            whole = torch.cat([whole, part])
        return whole

    return Pair(growing, lambda: torch.cat([part for _ in range(256)]), per_round=5)
