"""Where a tensor built on the CPU goes, and the first place at which that matters to the GPU."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass

from warplint.static.facts import Facts, Use, UseKind
from warplint.static.finding import Hotness
from warplint.static.values import Value


class Effect(enum.Enum):
    """What happens where the tensor and the GPU come together."""

    COPIES = "copies"
    """It is moved, or indexes a CUDA tensor: one copy from pageable memory, and the host waits for it."""
    RAISES = "raises"
    """PyTorch refuses to combine it with a CUDA tensor."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """One place where the tensor meets the GPU. ``unchanged`` means as it was built, not computed with."""

    effect: Effect
    use: Use
    unchanged: bool


@dataclass(frozen=True, slots=True)
class Journey:
    """Where a tensor went. ``meetings`` stand in the order they are reached.

    ``host``: Python reads it somewhere. ``meets_cpu``: it is combined with other CPU tensors.
    ``escapes``: it goes where the engine cannot follow.
    """

    meetings: tuple[Meeting, ...]
    host: bool
    meets_cpu: bool
    escapes: bool


ESCAPES = {UseKind.STORED, UseKind.RETURNED, UseKind.PASSED, UseKind.OTHER}


def journey(made: ast.expr, facts: Facts) -> Journey:
    """Follow a CPU tensor and everything computed from it as long as that stays on the CPU."""
    travelled = list(_uses(made, facts))
    meetings = (
        Meeting(effect, use, unchanged=tensor is made)
        for tensor, use in travelled
        if (effect := _effect(facts.value(tensor), use, facts)) is not None
    )
    return Journey(
        tuple(meetings),
        host=any(use.kind is UseKind.HOST for _, use in travelled),
        meets_cpu=any(use.other is not None and use.other.on_cpu for _, use in travelled),
        escapes=any(use.kind in ESCAPES for _, use in travelled),
    )


def _uses(made: ast.expr, facts: Facts) -> Iterator[tuple[ast.expr, Use]]:
    """Every use of the tensor, then of what is computed from it on the CPU, each with the tensor used."""
    waiting = [made]
    seen: set[ast.AST] = {made}
    while waiting:
        tensor = waiting.pop()
        for use in facts.uses(tensor):
            yield tensor, use
            if use.node in seen or not isinstance(use.node, ast.expr):
                continue
            seen.add(use.node)
            if use.kind in (UseKind.COMBINED, UseKind.OTHER) and facts.value(use.node).on_cpu:
                waiting.append(use.node)


def _effect(tensor: Value, use: Use, facts: Facts) -> Effect | None:
    if facts.hotness(use.node) is not Hotness.STEP:
        return None
    if use.kind is UseKind.MOVED:
        return Effect.COPIES if _leaves_the_cpu(use, facts) else None
    if use.other is None or not use.other.on_accelerator:
        return None
    if use.kind is UseKind.INDEX:
        # Boolean masks on the CPU select without a wait since torch 2.9.
        return None if tensor.dtype == "torch.bool" else Effect.COPIES
    # A CPU tensor of no dimensions goes to the kernel as a number.
    return Effect.RAISES if use.kind is UseKind.COMBINED and tensor.ndim != 0 else None


def _leaves_the_cpu(use: Use, facts: Facts) -> bool:
    if not isinstance(use.node, ast.expr):
        return False
    moved = facts.value(use.node)
    return moved.is_tensor and not moved.on_cpu
