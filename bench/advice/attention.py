"""Attention by hand, with masks as tensors, with weights nobody reads; a cache grown token by token."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from case import Cases, Pair
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

CASES = Cases()
HALF = torch.bfloat16


def heads(batch: int, count: int, length: int, size: int, grad: bool = False) -> list[torch.Tensor]:
    shape = (batch, count, length, size)
    return [torch.randn(shape, device="cuda", dtype=HALF, requires_grad=grad) for _ in range(3)]


def causal_mask(length: int) -> torch.Tensor:
    return torch.full((length, length), float("-inf"), device="cuda", dtype=HALF).triu(1)


def by_hand(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    return (scores + added).softmax(dim=-1) @ value


def backward(result: Callable[[], torch.Tensor]) -> Callable[[], None]:
    def step() -> None:
        result().sum().backward()

    return step


@CASES.add("attention by hand, causal, [8, 16, 1024, 64] bf16, forward; scaled_dot_product_attention")
def hand_forward() -> Pair:
    parts, mask = heads(8, 16, 1024, 64), causal_mask(1024)
    return Pair(
        lambda: by_hand(*parts, mask),
        lambda: F.scaled_dot_product_attention(*parts, is_causal=True),
    )


@CASES.add("the same, forward and backward")
def hand_backward() -> Pair:
    parts, mask = heads(8, 16, 1024, 64, grad=True), causal_mask(1024)
    return Pair(
        backward(lambda: by_hand(*parts, mask)),
        backward(lambda: F.scaled_dot_product_attention(*parts, is_causal=True)),
    )


@CASES.add(
    "attention by hand with a bias, [8, 16, 1024, 64] bf16, forward and backward; SDPA(attn_mask=bias)"
)
def hand_bias() -> Pair:
    parts = heads(8, 16, 1024, 64, grad=True)
    bias = torch.randn(1, 16, 1024, 1024, device="cuda", dtype=HALF)
    return Pair(
        backward(lambda: by_hand(*parts, bias)),
        backward(lambda: F.scaled_dot_product_attention(*parts, attn_mask=bias)),
    )


@CASES.add(
    "window attention by hand with a bias, [512, 8, 49, 32] bf16, forward and backward; SDPA(attn_mask=bias)"
)
def hand_window() -> Pair:
    parts = heads(512, 8, 49, 32, grad=True)
    bias = torch.randn(1, 8, 49, 49, device="cuda", dtype=HALF)
    return Pair(
        backward(lambda: by_hand(*parts, bias)),
        backward(lambda: F.scaled_dot_product_attention(*parts, attn_mask=bias)),
    )


def self_attention(need_weights: bool) -> Callable[[], torch.Tensor]:
    layer = nn.MultiheadAttention(1024, 16, batch_first=True, device="cuda", dtype=HALF)
    tokens = torch.randn(8, 1024, 1024, device="cuda", dtype=HALF)

    def step() -> torch.Tensor:
        result: torch.Tensor = layer(tokens, tokens, tokens, need_weights=need_weights)[0]
        return result

    return step


@CASES.add(
    "MultiheadAttention whose weights are dropped, [8, 1024, 1024] bf16, training step; need_weights=False"
)
def multihead_training() -> Pair:
    return Pair(backward(self_attention(True)), backward(self_attention(False)))


@CASES.add(
    "a causal mask as a tensor of -inf given to SDPA, [8, 16, 1024, 64] bf16, forward and backward; is_causal"
)
def dense_mask() -> Pair:
    parts, mask = heads(8, 16, 1024, 64, grad=True), causal_mask(1024)
    return Pair(
        backward(lambda: F.scaled_dot_product_attention(*parts, attn_mask=mask)),
        backward(lambda: F.scaled_dot_product_attention(*parts, is_causal=True)),
    )


@CASES.add("SDPA held to its math backend, [8, 16, 1024, 64] bf16, forward and backward; the default")
def math_backend() -> Pair:
    parts = heads(8, 16, 1024, 64, grad=True)

    def held() -> None:
        with sdpa_kernel(SDPBackend.MATH):
            F.scaled_dot_product_attention(*parts, is_causal=True).sum().backward()

    return Pair(held, backward(lambda: F.scaled_dot_product_attention(*parts, is_causal=True)))


@CASES.add("SDPA on float32, [8, 16, 1024, 64], forward; on bfloat16")
def single_precision() -> Pair:
    parts = heads(8, 16, 1024, 64)
    singles = [part.float() for part in parts]
    return Pair(
        lambda: F.scaled_dot_product_attention(*singles, is_causal=True),
        lambda: F.scaled_dot_product_attention(*parts, is_causal=True),
    )


@CASES.add("24 layers' cache [1, 16, t, 64] bf16 grown by cat over 512 tokens; written into place")
def grown_cache() -> Pair:
    token = torch.randn(1, 16, 1, 64, device="cuda", dtype=HALF)
    whole = [torch.empty(1, 16, 512, 64, device="cuda", dtype=HALF) for _ in range(24)]

    def grown() -> None:
        layers = [token.new_empty(1, 16, 0, 64) for _ in range(24)]
        for _ in range(512):
            layers = [torch.cat([layer, token], dim=2) for layer in layers]

    def placed() -> None:
        for position in range(512):
            for layer in whole:
                layer[:, :, position : position + 1] = token

    return Pair(grown, placed, per_round=1)
