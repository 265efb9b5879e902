"""A capture's costs as one JSON object: the interface documented in docs/show-json.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields

from warplint.profile.model import KernelCost, LineCost, Profile, Totals
from warplint.profile.sections.table import SECTIONS, to_plain

KERNELS_SHOWN = 3

TOTAL_KEYS = tuple(each.name for each in fields(Totals))
LINE_KEYS = tuple(each.name for each in fields(LineCost))


def render(profile: Profile, lines: Sequence[LineCost]) -> str:
    """``lines`` are those of it to be shown. Every key is always there; figures have three digits."""
    document: dict[str, object] = {
        "totals": {key: _figure(getattr(profile.totals, key)) for key in TOTAL_KEYS},
        "lines": [_line(cost) for cost in lines],
    }
    for name in SECTIONS:
        document[name] = [_record(each) for each in getattr(profile, name)]
    return json.dumps(document, indent=1) + "\n"


def _line(cost: LineCost) -> dict[str, object]:
    found: dict[str, object] = {key: _figure(getattr(cost, key)) for key in LINE_KEYS}
    found["share"] = cost.share
    found["idle_us"] = {cause.value: _figure(us) for cause, us in cost.idle_us.items()}
    found["kernels"] = [_kernel(each) for each in cost.kernels[:KERNELS_SHOWN]]
    return found


def _record(record: object) -> dict[str, object]:
    return {key: _figure(value) for key, value in to_plain(record).items()}


def _kernel(kernel: KernelCost) -> dict[str, object]:
    return {"name": kernel.name, "us": _figure(kernel.us), "count": kernel.count}


def _figure(value: object) -> object:
    return round(value, 3) if isinstance(value, float) else value
