"""What a cause is: a row of the table, in a module of ``causes``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import lru_cache

from warplint.advice.diagnosis import causes
from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.verdict import Bottleneck, Figure, Phase
from warplint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class Charge:
    """Time that a cause claims: ``us`` of it at a line in a phase, of which ``gain_us`` could be saved."""

    us: float
    gain_us: float
    file: str
    line: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class Said:
    """A claim in words: what completes "the step waits … for", and what to do.

    ``place`` is the line to change where it is another than the dearest of the charges.
    """

    what: str
    remedy: str
    evidence: tuple[Figure, ...] = ()
    place: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """``is_wait``: the GPU computed nothing in the time it claims; else it worked below its limits.

    ``find`` gives the charges, none where there is no evidence; ``say`` is asked only with charges, those
    of the run or of one phase. ``threshold`` is the least part of the step for the run's verdict.
    """

    name: str
    bottleneck: Bottleneck
    is_wait: bool
    find: Callable[[CapturedSteps], list[Charge]]
    say: Callable[[CapturedSteps, Sequence[Charge]], Said]
    threshold: Callable[[CapturedSteps], float]


@lru_cache(maxsize=1)
def all_causes() -> tuple[Cause, ...]:
    """Found by place: the ``CAUSES`` of every module of ``causes``."""
    modules = (
        importlib.import_module(f"{causes.__name__}.{found.name}")
        for found in pkgutil.iter_modules(causes.__path__)
    )
    return tuple(cause for module in modules for cause in module.CAUSES)


def charge(us: float, file: str, line: int, phase: Phase, gain: float = 1.0) -> Charge:
    """``gain``: the part of it that could be saved."""
    return Charge(us, us * gain, file, line, phase)


def dearest(charges: Sequence[Charge]) -> tuple[str, int]:
    """The line with most of them."""
    by_line: dict[tuple[str, int], float] = {}
    for each in charges:
        by_line[each.file, each.line] = by_line.get((each.file, each.line), 0.0) + each.us
    return max(by_line, key=lambda line: (by_line[line], line))
