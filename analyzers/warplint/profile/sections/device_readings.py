"""The section ``device_readings``: what the device's own counters said in the windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """Means over the samples of all windows."""

    source: str
    """``nvml``."""
    samples: int
    kernel_active_share: float
    """What monitors call GPU utilisation: of the counter's own interval, in which any kernel ran; 0 to 1."""


def device_readings(samples: Iterable[Mapping[str, Any]]) -> list[DeviceReading]:
    """One for each source that gave a utilisation."""
    by_source: dict[str, list[float]] = {}
    for sample in samples:
        percent = sample.get("kernel_active_percent")
        if isinstance(percent, (int, float)):
            by_source.setdefault(str(sample.get("source") or ""), []).append(float(percent))
    return [
        DeviceReading(source, len(percents), sum(percents) / len(percents) / 100)
        for source, percents in sorted(by_source.items())
    ]
