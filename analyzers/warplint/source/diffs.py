"""How lines move from one version of a text to another."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warplint.source.text import SourceText

# Beyond this many pairs of lines, what stands between two anchors counts as rewritten: difflib is quadratic,
# and an editor asks at every keystroke.
LARGEST_GAP = 1_000_000


def moved_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Map each line number (from 1) of ``old`` that stands unchanged in ``new`` to its number there.

    Lines whose text changed, or that are gone, are absent: what was measured on them is stale. Lines that
    occur once in both versions are the anchors (patience diff), so a moved blank line or bracket does not
    pull its neighbours along.
    """
    # An editor asks at every keystroke, and then all but a few lines are as they were.
    start = _same_at_start(old, new)
    end = _same_at_start(old[start:][::-1], new[start:][::-1])
    moved = {line: line for line in range(1, start + 1)}
    between = _moved_between(old[start : len(old) - end], new[start : len(new) - end])
    moved.update((line + start, there + start) for line, there in between.items())
    shift = len(new) - len(old)
    moved.update((line, line + shift) for line in range(len(old) - end + 1, len(old) + 1))
    return moved


class MovedLines:
    """Where the lines of one text stand in another, as ``moved_lines`` says it of lists of them.

    Only what is around the place where they differ is looked at.
    """

    def __init__(self, old: SourceText, new: SourceText) -> None:
        same = common_start(old.text, new.text)
        same_at_end = common_end(old.text, new.text, same)
        self.start = same
        """How far the texts are the same."""
        self.end = len(old.text) - same_at_end
        """From where on the old one is the same as the end of the new one."""
        self.shift = len(new.text) - len(old.text)
        first = bisect.bisect_right(old.line_starts, same) - 1
        old_last = bisect.bisect_right(old.line_starts, self.end)
        new_last = bisect.bisect_right(new.line_starts, self.end + self.shift)
        self._first, self._last, self._lines = first, old_last, new_last - old_last
        between = moved_lines(
            [old.line(number) for number in range(first + 1, old_last + 1)],
            [new.line(number) for number in range(first + 1, new_last + 1)],
        )
        self._between = {line + first: there + first for line, there in between.items()}

    def get(self, line: int) -> int | None:
        """The number in the new text of a line of the old one, from 1; None where it changed."""
        if line <= self._first:
            return line
        return line + self._lines if line > self._last else self._between.get(line)


def common_start(old: str, new: str) -> int:
    """How many characters two texts have in common before they differ."""
    most = min(len(old), len(new))
    return most if old[:most] == new[:most] else _halved(most, lambda low, up: old[low:up] == new[low:up])


def common_end(old: str, new: str, start: int = 0) -> int:
    """How many characters two texts have in common at their ends, beyond the ``start`` of both."""
    most = min(len(old), len(new)) - start
    before, now = old[len(old) - most :], new[len(new) - most :]
    if before == now:
        return most
    return _halved(most, lambda low, up: before[most - up : most - low] == now[most - up : most - low])


def _halved(size: int, agree: Callable[[int, int], bool]) -> int:
    """Where two sequences first differ, which do. Comparing slices is quick: halve what is in question."""
    low, up = 0, size
    while up - low > 1:
        middle = (low + up) // 2
        if agree(low, middle):
            low = middle
        else:
            up = middle
    return low


def _same_at_start(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines two texts have in common before they differ."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (before, after) in pairs if before != after), min(len(old), len(new)))


def _moved_between(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    import difflib  # It costs start-up, and only an edited text needs it.

    moved: dict[int, int] = {}
    for old_start, old_end, new_start, new_end in _gaps(old, new, moved):
        if (old_end - old_start) * (new_end - new_start) > LARGEST_GAP:
            continue
        matcher = difflib.SequenceMatcher(
            None, old[old_start:old_end], new[new_start:new_end], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            for index in range(block.size):
                moved[old_start + block.a + index + 1] = new_start + block.b + index + 1
    return moved


def _gaps(
    old: Sequence[str], new: Sequence[str], moved: dict[int, int]
) -> Iterator[tuple[int, int, int, int]]:
    """Record in ``moved`` the anchors and what adjoins them; yield the ranges that are left between."""
    old_start = new_start = 0
    for old_anchor, new_anchor in [*_anchors(old, new), (len(old), len(new))]:
        while old_start < old_anchor and new_start < new_anchor and old[old_start] == new[new_start]:
            moved[old_start + 1] = new_start + 1
            old_start, new_start = old_start + 1, new_start + 1
        old_end, new_end = old_anchor, new_anchor
        while old_end > old_start and new_end > new_start and old[old_end - 1] == new[new_end - 1]:
            moved[old_end] = new_end
            old_end, new_end = old_end - 1, new_end - 1
        if old_start < old_end and new_start < new_end:
            yield old_start, old_end, new_start, new_end
        old_start, new_start = old_anchor, new_anchor


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of lines that occur once in both texts, as the longest run that rises in both."""
    old_count, new_count = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if new_count[line] == 1}
    pairs = [
        (index, places[line]) for index, line in enumerate(old) if old_count[line] == 1 and line in places
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of ``pairs`` (rising in the first member) that also rises in the second."""
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        pile = bisect.bisect_left(ends, place)
        before.append(tops[pile - 1] if pile else -1)
        if pile == len(ends):
            ends.append(place)
            tops.append(index)
        else:
            ends[pile] = place
            tops[pile] = index
    chain: list[tuple[int, int]] = []
    index = tops[-1] if tops else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]
