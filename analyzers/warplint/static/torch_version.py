"""Versions of torch, as rules and configuration name them."""

from __future__ import annotations

import sys
from itertools import takewhile

from warplint.source.records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class TorchVersion:
    """A release of torch. Patches change nothing that a rule looks at, and are not told apart."""

    major: int
    minor: int = 0

    @classmethod
    def parse(cls, text: str) -> TorchVersion | None:
        """The release in ``2.4``, ``2.4.1+cu121`` or ``2.5.0a0``; None for what is no version."""
        major, _, rest = text.strip().removeprefix("v").partition(".")
        numbers = ["".join(takewhile(str.isdecimal, part)) for part in (major, rest)]
        return cls(int(numbers[0]), int(numbers[1] or 0)) if numbers[0] else None

    def __str__(self) -> str:
        return "newest" if self == NEWEST else f"{self.major}.{self.minor}"


NEWEST = TorchVersion(sys.maxsize)
"""What is assumed where nothing says which: later than every release that a rule names."""
