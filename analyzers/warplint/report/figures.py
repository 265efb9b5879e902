"""Numbers as reports write them."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def workers_fetch(workers: int) -> str:
    """A number of loader workers, with what they do."""
    return f"{counted(workers, 'worker')} {'fetches' if workers == 1 else 'fetch'}"


def count(number: float) -> str:
    """How often something happened, on average: to one place below ten, where it is not whole."""
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def milliseconds(us: float) -> str:
    """Three figures: 0.12, 1.23, 12.3, 123."""
    ms = us / 1000
    return f"{ms:.2f}" if ms < 9.995 else f"{ms:.1f}" if ms < 99.95 else f"{ms:,.0f}"


def share(part: float) -> str:
    """A part of the whole (from 0 to 1) in percent."""
    return f"{part:.1%}" if part < 0.0995 else f"{part:.0%}"


TIME_UNITS = ((1e6, "s"), (1e3, "ms"))
"""Units of time from the largest, with their microseconds; what is shorter is given in µs."""


def short_duration(us: float) -> str:
    """A time in the largest unit that leaves a digit before the point, to one place after it; none from a
    hundred on."""
    value, unit = next(((us / size_us, unit) for size_us, unit in TIME_UNITS if us >= size_us), (us, "µs"))
    return f"{value:.1f} {unit}" if value < 99.95 else f"{value:,.0f} {unit}"
