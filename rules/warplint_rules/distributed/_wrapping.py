"""How a program says that a model's gradients are summed over processes."""

from __future__ import annotations

from warplint.static.facts import Facts

DDP = "torch.nn.parallel.DistributedDataParallel"
CALLS = ("DDP", "DistributedDataParallel", "smart_DDP")
"""What wraps a model, by the names it is imported under or wrapped in."""


def wraps_in_ddp(facts: Facts) -> bool:
    """Whether the file wraps a model so that each backward pass sums gradients over processes."""
    return facts.calls_any(CALLS)
