"""How lines move from one version of a text to another."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def moved_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Map each line number (from 1) of ``old`` that stands unchanged in ``new`` to its number there.

    Lines whose text changed, or that are gone, are absent: what was measured on them is stale.
    """
    moved: dict[int, int] = {}
    head = 0
    limit = min(len(old), len(new))
    while head < limit and old[head] == new[head]:
        moved[head + 1] = head + 1
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        moved[len(old) - tail] = len(new) - tail
        tail += 1
    matcher = difflib.SequenceMatcher(
        None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        for index in range(block.size):
            moved[head + block.a + index + 1] = head + block.b + index + 1
    return moved
