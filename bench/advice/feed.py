"""Getting batches to the GPU: loaders, pinned memory, copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from case import Cases, Pair
from torch.utils.data import DataLoader, Dataset

CASES = Cases()
MEGABYTE = 1_000_000


class Images(Dataset[torch.Tensor]):
    """Samples of 3 by 224 by 224 that take the CPU some work, as decoding does."""

    def __init__(self, count: int = 640) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        values = torch.randn(3, 224, 224)
        for _ in range(4):
            values = (values - values.mean()) / values.std()
        return values


def host(megabytes: int, pinned: bool) -> torch.Tensor:
    return torch.empty(megabytes * MEGABYTE // 4, pin_memory=pinned)


def beside_work(copy: Callable[[], object]) -> Callable[[], None]:
    left = torch.randn(4096, 4096, device="cuda")

    def step() -> None:
        copy()
        value = left
        for _ in range(2):
            value = value @ left

    return step


@CASES.add("64 MB from pinned memory and two products a step; the copy with non_blocking=True")
def blocking_copy() -> Pair:
    batch = host(64, pinned=True)
    return Pair(
        beside_work(lambda: batch.to("cuda")), beside_work(lambda: batch.to("cuda", non_blocking=True))
    )


@CASES.add("64 MB from pageable memory and two products a step; from pinned memory with non_blocking=True")
def pageable_copy() -> Pair:
    pageable, pinned = host(64, pinned=False), host(64, pinned=True)
    return Pair(
        beside_work(lambda: pageable.to("cuda")), beside_work(lambda: pinned.to("cuda", non_blocking=True))
    )


def pinning_inline(megabytes: int) -> Pair:
    batch = host(megabytes, pinned=False)
    return Pair(lambda: batch.pin_memory().to("cuda", non_blocking=True), lambda: batch.to("cuda"))


@CASES.add("x.pin_memory().to('cuda', non_blocking=True), 1 MB; x.to('cuda')")
def pinned_inline_1() -> Pair:
    return pinning_inline(1)


@CASES.add("the same, 16 MB")
def pinned_inline_16() -> Pair:
    return pinning_inline(16)


@CASES.add("the same, 64 MB")
def pinned_inline_64() -> Pair:
    return pinning_inline(64)


@CASES.add("128 samples of 150,528 values moved one by one; stacked on the CPU and moved once")
def one_by_one() -> Pair:
    samples = [torch.randn(3, 224, 224) for _ in range(128)]
    return Pair(
        lambda: torch.stack([sample.to("cuda") for sample in samples]),
        lambda: torch.stack(samples).to("cuda"),
    )


def epoch(loader: Callable[[], DataLoader[torch.Tensor]]) -> Callable[[], None]:
    def step() -> None:
        for batch in loader():
            batch.to("cuda", non_blocking=True).square().mean()

    return step


def images(**options: Any) -> DataLoader[torch.Tensor]:
    return DataLoader(Images(), batch_size=32, **options)


@CASES.add("an epoch of 20 batches, num_workers=0; 8 persistent workers")
def no_workers() -> Pair:
    alone = images()
    helped = images(num_workers=8, persistent_workers=True)
    return Pair(epoch(lambda: alone), epoch(lambda: helped), per_round=1)


@CASES.add("an epoch of 20 batches, 8 workers, made anew each epoch; persistent_workers=True")
def workers_restarted() -> Pair:
    restarted = images(num_workers=8)
    persistent = images(num_workers=8, persistent_workers=True)
    return Pair(epoch(lambda: restarted), epoch(lambda: persistent), per_round=1)


@CASES.add("next(iter(loader)) for each of 5 batches, 8 workers; one iterator")
def restarted_iterator() -> Pair:
    loader = images(num_workers=8)

    def found() -> None:
        for _ in range(5):
            next(iter(loader)).to("cuda")

    def advised() -> None:
        batches = iter(loader)
        for _ in range(5):
            next(batches).to("cuda")

    return Pair(found, advised, per_round=1)


@CASES.add("an epoch of 20 batches, 8 persistent workers, prefetch_factor=1; 2 (the default)")
def little_prefetched() -> Pair:
    options = {"num_workers": 8, "persistent_workers": True}
    little, default = images(prefetch_factor=1, **options), images(**options)
    return Pair(epoch(lambda: little), epoch(lambda: default), per_round=1)
