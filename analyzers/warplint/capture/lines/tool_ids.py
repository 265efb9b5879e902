"""Which of ``sys.monitoring``'s tool ids we use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any

monitoring: Any = getattr(sys, "monitoring", None)
"""``sys.monitoring``; None before Python 3.12."""
NAME = "warplint"
CANDIDATES = (3, 4)
"""The ids without a meaning given by Python: debuggers, coverage, profilers and optimizers have their own."""


_use_tool_id: Any = getattr(monitoring, "use_tool_id", None)
_free_tool_id: Any = getattr(monitoring, "free_tool_id", None)
_followed: dict[int, Callable[[], Iterable[CodeType]]] = {}
"""The code objects with events of their own under each id that was ours last."""


def take_tool(followed: Callable[[], Iterable[CodeType]] = tuple) -> int | None:
    """A free id, now ours; None when others hold them all. ``followed`` tells the code it has events in."""
    for tool in CANDIDATES:
        try:
            _use_tool_id(tool, NAME)
        except ValueError:
            continue
        _followed[tool] = followed
        return tool
    return None


class GivingWay:
    """Leaves an id of ours to the program when it asks for that one, or frees it.

    It would meet an error else, or the events that we had switched on in code objects.
    """

    def __init__(self, on_leaving: Callable[[int], None]) -> None:
        self._on_leaving = on_leaving

    def install(self) -> None:
        if monitoring is not None:
            monitoring.use_tool_id, monitoring.free_tool_id = self.use_tool_id, self.free_tool_id

    def remove(self) -> None:
        # Someone else's function, put in the place of ours, stays.
        if monitoring is not None and monitoring.use_tool_id == self.use_tool_id:
            monitoring.use_tool_id = _use_tool_id
        if monitoring is not None and monitoring.free_tool_id == self.free_tool_id:
            monitoring.free_tool_id = _free_tool_id

    def use_tool_id(self, tool_id: int, name: str, /) -> None:
        self._leave(tool_id)
        _use_tool_id(tool_id, name)

    def free_tool_id(self, tool_id: int, /) -> None:
        self._leave(tool_id)
        _free_tool_id(tool_id)

    def _leave(self, tool_id: int) -> None:
        if tool_id in CANDIDATES and holds_tool(tool_id):
            leave_tool(tool_id, {}, _followed[tool_id]())
            self._on_leaving(tool_id)


def out_of_sight(action: Callable[[], None], leaving: int = 0) -> None:
    """Run ``action`` where no debugger, profiler or coverage tool of the program's sees it.

    ``sys.monitoring`` reports nothing of what runs inside a callback, to anyone. Before Python 3.12, and
    where it would not leave so many tool ids free as ``leaving`` says, the action simply runs.
    """
    tool = take_tool() if len(_free_tools()) > leaving else None
    if tool is None:
        action()
        return
    entered = False

    def on_start(code: CodeType, offset: int) -> None:
        nonlocal entered
        entered = True
        action()

    start = monitoring.events.PY_START
    monitoring.register_callback(tool, start, on_start)
    monitoring.set_local_events(tool, _door.__code__, start)
    try:
        _door()
    finally:
        monitoring.set_local_events(tool, _door.__code__, 0)
        release_tool(tool)
    if not entered:
        # We are inside a callback already.
        action()


def _free_tools() -> list[int]:
    if monitoring is None:
        return []
    return [tool for tool in CANDIDATES if monitoring.get_tool(tool) is None]


def _door() -> None:
    """Its start is the event behind ``out_of_sight``."""


def holds_tool(tool: int) -> bool:
    """Whether an id is still ours: any code may free it and take it over."""
    return bool(monitoring.get_tool(tool) == NAME)


def leave_tool(tool: int, callbacks: Mapping[int, Callable[..., Any]], codes: Iterable[CodeType]) -> None:
    """Everything of ours off, and the id free again; one that is someone else's by now stays theirs."""
    if monitoring.get_tool(tool) is None:
        # Freed by the program, which leaves events of code objects on.
        _use_tool_id(tool, NAME)
    if not holds_tool(tool):
        for event, callback in callbacks.items():
            found = monitoring.register_callback(tool, event, None)
            if found is not callback:
                monitoring.register_callback(tool, event, found)
        return
    monitoring.set_events(tool, 0)
    for code in codes:
        monitoring.set_local_events(tool, code, 0)
    release_tool(tool)


def release_tool(tool: int) -> None:
    """Give an id back, without callbacks, as it was found."""
    for event in _events():
        monitoring.register_callback(tool, event, None)
    _free_tool_id(tool)


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
