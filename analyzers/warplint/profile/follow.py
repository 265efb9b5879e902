"""Where captured costs stand in a text that has been edited since."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from warplint.profile.model import LineCost, Profile
from warplint.source.diffs import moved_lines
from warplint.source.statements import heads_of_text
from warplint.source.text import LINE_END, SourceText

# Below this likeness (difflib's ratio) an edited line is another line, and the old one is gone.
SAME_LINE = 0.5

COMPARED = 200
"""How many characters of a line are compared: likeness is quadratic in them, and some lines are data."""

LARGEST_REWRITE = 1_000
"""More pairs of lines than this between two unchanged ones count as rewritten: an editor asks at every
keystroke, and comparing so many takes 50 ms."""


@dataclass(frozen=True, slots=True)
class PlacedCost:
    """A cost at its ``line`` (from 1) in the current text; ``stale`` when what it was measured on changed."""

    cost: LineCost
    line: int
    stale: bool


def place(profile: Profile, file: str, current: SourceText) -> dict[int, PlacedCost]:
    """The costs of ``file`` (root-relative, as in ``LineCost.file``) by line of the current text.

    A statement over several lines is stale when any of them changed, or another came between. Costs of
    deleted lines are left out.
    """
    captured = profile.sources.get(file)
    costs = [cost for cost in profile.lines if cost.file == file]
    if captured is None or not costs:
        return {}
    if captured.digest == current.digest:
        return {cost.line: PlacedCost(cost, cost.line, False) for cost in costs}
    edit = edit_of(captured.text, current.text)
    statements = statement_lines(captured.text)
    placed: dict[int, PlacedCost] = {}
    for cost in costs:
        line = edit.line_of(cost.line)
        if line is not None:
            stale = not edit.is_kept(statements.get(cost.line, [cost.line]))
            placed[line] = PlacedCost(cost, line, stale)
    return placed


@lru_cache(maxsize=64)
def statement_lines(text: str) -> dict[int, list[int]]:
    """The lines of each statement that has several, by its first.

    Kept, since an editor asks again with every keystroke: parsing takes 50 ms for a thousand lines.
    """
    lines: dict[int, list[int]] = {}
    for line, head in heads_of_text(text).items():
        lines.setdefault(head, [head]).append(line)
    return lines


class Unchanged:
    """The lines, numbered from 1, that two versions of a text have in common."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._moved = moved_lines(old, new)

    def is_kept(self, lines: Sequence[int]) -> bool:
        """Whether these lines of the old text stand in the new one, at the same distances from each other."""
        return _stands(lines, self._moved)

    def was(self, lines: Sequence[int]) -> bool:
        """Whether these lines of the new text stood in the old one, at the same distances from each other."""
        return _stands(lines, self._came_from)

    @cached_property
    def _came_from(self) -> dict[int, int]:
        return {new: old for old, new in self._moved.items()}


def _stands(lines: Sequence[int], there: Mapping[int, int]) -> bool:
    first, first_there = lines[0], there.get(lines[0])
    return first_there is not None and all(there.get(line) == first_there + line - first for line in lines)


class Edit(Unchanged):
    """Two versions of a text, and where the lines of the first are in the second."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(old, new)
        self._old, self._new = old, new

    def line_of(self, line: int) -> int | None:
        """The line's number now, changed or not; None when it is gone."""
        return self._moved.get(line) or self._changed.get(line)

    @cached_property
    def _changed(self) -> dict[int, int]:
        """Where lines went whose text changed, between the unchanged lines around them."""
        changed: dict[int, int] = {}
        anchors = [(0, 0), *sorted(self._moved.items()), (len(self._old) + 1, len(self._new) + 1)]
        for (old, new), (next_old, next_new) in itertools.pairwise(anchors):
            before, after = range(old + 1, next_old), range(new + 1, next_new)
            if len(before) == len(after):
                pairs = zip(before, after, strict=True)
                changed.update(pair for pair in pairs if self._likeness(*pair) >= SAME_LINE)
            elif len(before) * len(after) <= LARGEST_REWRITE:
                changed.update(self._alike(before, after))
        return changed

    def _alike(self, before: range, after: range) -> dict[int, int]:
        """Pair each line with the first remaining line that is most like it, in order."""
        found: dict[int, int] = {}
        begin = after.start
        for line in before:
            candidates = range(begin, after.stop)
            likeness = {number: self._likeness(line, number) for number in candidates}
            best = max(candidates, key=lambda number: likeness[number], default=None)
            if best is not None and likeness[best] >= SAME_LINE:
                found[line] = best
                begin = best + 1
        return found

    def _likeness(self, old: int, new: int) -> float:
        """From 0 to 1; 0 for all that cannot reach ``SAME_LINE``."""
        before, after = self._old[old - 1].strip()[:COMPARED], self._new[new - 1].strip()[:COMPARED]
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        return matcher.ratio() if matcher.quick_ratio() >= SAME_LINE else 0.0


@lru_cache(maxsize=4)
def edit_of(old: str, new: str) -> Edit:
    """Kept, since where costs stand and what was edited are asked one after the other."""
    return Edit(LINE_END.split(old), LINE_END.split(new))
