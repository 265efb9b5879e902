"""A piece of advice as two programs that do the same work: as the rule finds it, and as it advises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pair:
    """``found`` and ``advised`` are called many times, each call one step of the work.

    ``per_round`` calls are timed together; slow ones want few.
    """

    found: Callable[[], object]
    advised: Callable[[], object]
    per_round: int = 20


@dataclass(frozen=True)
class Case:
    """``prepare`` builds the pair, on the GPU, when its turn comes."""

    about: str
    prepare: Callable[[], Pair]


@dataclass
class Cases:
    """The cases of one family, in the order in which they stand in its file."""

    all: list[Case] = field(default_factory=list)

    def add(self, about: str) -> Callable[[Callable[[], Pair]], Callable[[], Pair]]:
        def keep(prepare: Callable[[], Pair]) -> Callable[[], Pair]:
            self.all.append(Case(about, prepare))
            return prepare

        return keep
