"""What capturing a window cost the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Price:
    """Seconds by part of the work: ``start``, ``stop``, ``write``."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        before = perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + perf_counter() - before

    def record(self) -> dict[str, float]:
        return {f"{name}_s": round(seconds, 6) for name, seconds in self._seconds.items()}
