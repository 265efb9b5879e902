"""How friendly a file's code is to the GPU: a number from 0 to 100, and the parts that add up to it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from warplint.project.engine import Checked


class Band(str, enum.Enum):
    """What the number says at a glance."""

    RED = "red"
    YELLOW = "yellow"
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class Part:
    """One reason for the number. ``line`` counts from 1; None where the whole file is meant."""

    label: str
    points: int
    line: int | None


@dataclass(frozen=True, slots=True)
class Score:
    """``value`` from 0 to 100 is the sum of the points of its parts; ``summary`` is one sentence."""

    value: int
    band: Band
    summary: str
    parts: tuple[Part, ...]


def score(checked: Checked) -> Score | None:
    """The score of a checked text; None for one without GPU code."""
    return None
