"""Who owns a piece of GPU work: one place of the source, or several that share it evenly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Owner = int
"""A place, or below 0 the number of a set of places."""


class Owners:
    """Numbers sets of places beside the places themselves."""

    def __init__(self) -> None:
        self._shared: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], Owner] = {}

    def of(self, places: Sequence[int]) -> Owner:
        """The owner for distinct places, of which there is at least one."""
        if len(places) == 1:
            return places[0]
        key = tuple(places)
        if key not in self._numbers:
            self._shared.append(key)
            self._numbers[key] = -len(self._shared)
        return self._numbers[key]

    def places(self, owner: Owner) -> tuple[int, ...]:
        return self._shared[-owner - 1] if owner < 0 else (owner,)

    def divide(self, owner: Owner, length: int) -> Iterator[tuple[int, int]]:
        """(place, its part of ``length``): even, what does not divide goes to the first, one each."""
        places = self.places(owner)
        each, left = divmod(length, len(places))
        for position, place in enumerate(places):
            yield place, each + (position < left)
