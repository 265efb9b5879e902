"""Several GPUs: `torchrun --nproc-per-node 2 bench/advice/distributed.py`.

Rank 0 prints the medians of a step, found and advised, timed in turn.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import statistics

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ROUNDS = 5
WARM_ROUNDS = 2
STEPS = 10
LAYERS = 12


def transformer() -> nn.Module:
    layers = [nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, dropout=0.0) for _ in range(LAYERS)]
    return nn.Sequential(*layers).cuda()


def batch(rows: int = 8) -> torch.Tensor:
    return torch.randn(rows, 256, 768, device="cuda")


def step_of(
    model: nn.Module, tokens: torch.Tensor, after: Callable[[torch.Tensor], object] = id
) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss = model(tokens).square().mean()
        loss.backward()
        optimizer.step()
        after(loss)

    return step


def accumulating(model: DistributedDataParallel, tokens: torch.Tensor, quiet: bool) -> Callable[[], None]:
    def step() -> None:
        for part in range(4):
            with model.no_sync() if quiet and part < 3 else nullcontext():
                model(tokens).square().mean().backward()

    return step


def reduced_each(model: nn.Module) -> Callable[[torch.Tensor], None]:
    def reduce(_: torch.Tensor) -> None:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)

    return reduce


def reduced_once(model: nn.Module) -> Callable[[torch.Tensor], None]:
    def reduce(_: torch.Tensor) -> None:
        flat = torch.cat(
            [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
        )
        dist.all_reduce(flat)

    return reduce


def read_mean(loss: torch.Tensor) -> float:
    whole = loss.detach().clone()
    dist.all_reduce(whole)
    return float(whole.item())


def gathered(_: torch.Tensor) -> None:
    collected: list[object] = [None] * dist.get_world_size()
    dist.all_gather_object(collected, {"loss": 1.0, "step": 3})


def everyone(name: str, found: Callable[[], object], advised: Callable[[], object]) -> None:
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(WARM_ROUNDS + ROUNDS):
        for step, kept in zip((found, advised), times, strict=True):
            took_ms = timed_ms(step)
            if number >= WARM_ROUNDS:
                kept.append(took_ms)
    if dist.get_rank() == 0:
        before, after = (statistics.median(kept) for kept in times)
        print(f"  {name:92s}{before:9.2f} ms{after:9.2f} ms{before / after:7.2f}x", flush=True)


def timed_ms(step: Callable[[], object]) -> float:
    dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / STEPS * 1e3


def data_parallel() -> None:
    """On one process: all GPUs in DataParallel, beside what one rank of DDP does with its share."""
    tokens = batch(8 * dist.get_world_size())
    alone = nn.DataParallel(transformer()) if dist.get_rank() == 0 else None
    ranked = step_of(DistributedDataParallel(transformer()), batch(8))
    found = step_of(alone, tokens) if alone is not None else (lambda: None)
    everyone(
        "DataParallel, 12 encoder layers, 8 sequences of 256 a GPU; DistributedDataParallel", found, ranked
    )


def main() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} x {torch.cuda.get_device_name()}, torch {torch.__version__}\n")
        print(f"{'':94s}{'found':>12s}{'advised':>12s}{'ratio':>8s}\n\ndistributed")
    ddp = DistributedDataParallel
    model, tokens = ddp(transformer()), batch()
    plain = step_of(model, tokens)
    everyone(
        "find_unused_parameters=True; False",
        step_of(ddp(transformer(), find_unused_parameters=True), tokens),
        plain,
    )
    everyone(
        "gradients of 4 parts exchanged after each; after the last (no_sync)",
        accumulating(model, tokens, False),
        accumulating(model, tokens, True),
    )
    everyone("dist.barrier() each step; never", step_of(model, tokens, lambda _: dist.barrier()), plain)
    everyone("all_reduce(loss).item() each step; never", step_of(model, tokens, read_mean), plain)
    everyone("all_gather_object of a small dict each step; never", step_of(model, tokens, gathered), plain)
    bare = transformer()
    everyone(
        "all_reduce of each of 144 gradients; of one flat tensor",
        step_of(bare, tokens, reduced_each(bare)),
        step_of(bare, tokens, reduced_once(bare)),
    )
    data_parallel()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
