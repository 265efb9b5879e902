"""Which of ``sys.monitoring``'s tool ids we use."""

from __future__ import annotations

import sys
from typing import Any

monitoring: Any = getattr(sys, "monitoring", None)
"""``sys.monitoring``; None before Python 3.12."""
NAME = "warplint"
CANDIDATES = (3, 4)
"""The ids without a meaning given by Python: debuggers, coverage, profilers and optimizers have their own."""


def take_tool() -> int | None:
    """A free id, now ours; None when others hold them all."""
    for tool in CANDIDATES:
        try:
            monitoring.use_tool_id(tool, NAME)
        except ValueError:
            continue
        return tool
    return None


def release_tool(tool: int) -> None:
    """Give an id back, without callbacks, as it was found."""
    for event in _events():
        monitoring.register_callback(tool, event, None)
    monitoring.free_tool_id(tool)


def _events() -> list[int]:
    events = monitoring.events
    return [
        events.PY_START,
        events.PY_RESUME,
        events.PY_RETURN,
        events.PY_YIELD,
        events.PY_UNWIND,
        events.LINE,
    ]
