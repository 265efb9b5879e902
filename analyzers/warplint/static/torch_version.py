"""Versions of torch, as rules and configuration name them."""

from __future__ import annotations

import re
import sys

from warplint.source.records import dataclass

_NUMBERS = re.compile(r"[vV]?(?P<major>\d+)(?:\.(?P<minor>\d+))?(?![\d!])")


@dataclass(frozen=True, slots=True, order=True)
class TorchVersion:
    """A release of torch. Patches change nothing that a rule looks at, and are not told apart."""

    major: int
    minor: int = 0

    @classmethod
    def parse(cls, text: str) -> TorchVersion | None:
        """The release in ``2.4``, ``2.4.1+cu121`` or ``2.5.0a0``; None for what is no version."""
        match = _NUMBERS.match(text.strip())
        return None if match is None else cls(int(match["major"]), int(match["minor"] or 0))

    def __str__(self) -> str:
        return "newest" if self == NEWEST else f"{self.major}.{self.minor}"


NEWEST = TorchVersion(sys.maxsize)
"""What is assumed where nothing says which: later than every release that a rule names."""
