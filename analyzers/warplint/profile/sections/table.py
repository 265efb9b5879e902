"""The parts of a profile besides totals and lines: lists of small records, stored and shown alike.

A record is a frozen dataclass whose fields are ``str``, ``int``, ``float``, ``bool``, a tuple of ``str``, or
None. Its section has the same name here, as a field of ``Profile``, and as a key of
``warplint show --format json``.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from warplint.profile.sections.compilation import GraphBreak, Recompilation
from warplint.profile.sections.device_readings import DeviceReading
from warplint.profile.sections.felt_costs import FeltWait
from warplint.profile.sections.fused import FusedShare
from warplint.profile.sections.loader_costs import Loader, LoaderLine
from warplint.profile.sections.named_costs import KernelGroup, LayerCost, TinyCopies
from warplint.profile.sections.step_points import ChangePoint, StepPoint
from warplint.profile.sections.window_price import WindowPrice

SECTIONS: dict[str, type[Any]] = {
    "windows": WindowPrice,
    "layers": LayerCost,
    "kernel_groups": KernelGroup,
    "tiny_copies": TinyCopies,
    "steps": StepPoint,
    "change_points": ChangePoint,
    "fused": FusedShare,
    "graph_breaks": GraphBreak,
    "recompilations": Recompilation,
    "loader": LoaderLine,
    "loaders": Loader,
    "felt": FeltWait,
    "device_readings": DeviceReading,
}
"""Name of a section to the type of its records."""


def to_plain(record: Any) -> dict[str, Any]:
    """A record as JSON holds it."""
    return asdict(record)


def from_plain(section: str, values: dict[str, Any]) -> Any:
    """The record that ``to_plain`` was given. Raises KeyError or TypeError when it is no such."""
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return SECTIONS[section](**fields)
