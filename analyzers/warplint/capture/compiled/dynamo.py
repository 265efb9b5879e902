"""The only file that touches ``torch._dynamo``: where compilation broke a graph, and what it compiled again.

Dynamo keeps both by itself, without logging: ``graph_break_reasons`` with the stack of each break, and the
metrics of its last compilations, of which those of a recompilation hold the guard that failed (torch 2.6 on).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from warplint.capture.late_imports import Guard, LateImports

MAX_EVENTS = 500
"""Distinct graph breaks, and as many recompilations: what no one reads to the end."""
MAX_REASON = 300
"""Characters of a reason."""

UNEXPLAINED = {"generic_jump": "Data-dependent branching: which way to go is only known when it runs"}
"""Reasons that Dynamo gives in words of its own."""

Event = tuple[str, int, str]
"""File, line and reason."""

_RESUMED = re.compile(r"torch_dynamo_resume_in_.*_at_(\d+)$")
_COMPILE_ID = re.compile(r"^\[?\d+/\d+(_\d+)?\]?: ")


@dataclass(slots=True)
class Events:
    """How often each distinct event came; ``dropped`` counts those beyond MAX_EVENTS."""

    counts: Counter[Event] = field(default_factory=Counter)
    dropped: int = 0

    def add(self, event: Event) -> None:
        if event in self.counts or len(self.counts) < MAX_EVENTS:
            self.counts[event] += 1
        else:
            self.dropped += 1


class Dynamo:
    """``look`` is cheap enough for every step; what it sees stays when ``torch._dynamo.reset`` clears it."""

    def __init__(
        self,
        imports: LateImports,
        is_user_file: Callable[[str], bool],
        on_compile: Callable[[str], None],
        guard: Guard,
    ) -> None:
        """``on_compile`` is called when a compilation starts, with its id, ``<frame>/<n>``."""
        self._imports = imports
        self._is_user_file = is_user_file
        self._on_compile = on_compile
        self._guard = guard
        self._start = guard(self._compilation_starts)
        self._handler: Any = None
        self._utils: Any = None
        self._breaks_seen = 0
        self._last_compilation: object = None
        self.graph_breaks = Events()
        self.recompilations = Events()

    def install(self) -> None:
        self._imports.when_imported("torch._dynamo.utils", self._guard(self._follow))
        self._imports.when_imported("torch._dynamo.callback", self._guard(self._listen))
        self._imports.when_imported("torch._dynamo.trace_rules", self._guard(leave_alone))

    def remove(self) -> None:
        self._utils = None
        if self._handler is not None and self._called_at_start in self._handler.start_callbacks:
            self._handler.remove_start_callback(self._called_at_start)

    def look(self) -> None:
        """Take in what has come since the last look."""
        if self._utils is None:
            return
        reasons = self._utils.graph_break_reasons
        if len(reasons) != self._breaks_seen:
            self._take_breaks(reasons)
        metrics = self._utils._compilation_metrics
        if metrics and metrics[-1] is not self._last_compilation:
            self._take_recompilations(list(metrics))

    def _follow(self, utils: ModuleType) -> None:
        if hasattr(utils, "graph_break_reasons") and hasattr(utils, "_compilation_metrics"):
            self._utils = utils

    def _listen(self, callback: ModuleType) -> None:
        handler = getattr(callback, "callback_handler", None)
        if hasattr(handler, "start_callbacks"):
            self._handler = handler
            self._handler.register_start_callback(self._called_at_start)

    def _called_at_start(self, *arguments: Any) -> None:
        """Dynamo's callback. Old torch says nothing of the compilation, and keeps no lines of kernels."""
        if arguments:
            self._start(arguments[0])

    def _compilation_starts(self, arguments: Any) -> None:
        self._on_compile(str(arguments.compile_id))

    def _take_breaks(self, reasons: list[Any]) -> None:
        if len(reasons) < self._breaks_seen:
            self._breaks_seen = 0
        for reason in reasons[self._breaks_seen :]:
            frames = [(str(frame.filename), int(frame.lineno)) for frame in reason.user_stack]
            file, line = self._innermost(frames)
            self.graph_breaks.add((file, line, shorten(str(reason.reason))))
        self._breaks_seen = len(reasons)

    def _take_recompilations(self, metrics: list[Any]) -> None:
        for each in _after(metrics, self._last_compilation):
            reason = getattr(each, "recompile_reason", None)
            if reason and each.co_filename:
                resumed = _RESUMED.search(each.co_name or "")
                line = int(resumed[1]) if resumed else int(each.co_firstlineno or 0)
                self.recompilations.add((str(each.co_filename), line, shorten(str(reason))))
        self._last_compilation = metrics[-1]

    def _innermost(self, frames: list[tuple[str, int]]) -> tuple[str, int]:
        """The innermost frame of the user's, else the innermost."""
        own = [frame for frame in frames if self._is_user_file(frame[0])]
        return (own or frames or [("", 0)])[-1]


def leave_alone(trace_rules: Any) -> None:
    """Have Dynamo skip our files: whatever Python runs beside a compiled region it would else compile too."""
    trace_rules.add("warplint.capture")


def shorten(reason: str) -> str:
    """The first line of a reason, and Dynamo's explanation where it gives one."""
    lines = [line.strip() for line in _COMPILE_ID.sub("", reason.strip()).splitlines()]
    explained = [line.removeprefix("Explanation: ") for line in lines if line.startswith("Explanation: ")]
    text = " ".join(": ".join([*lines[:1], *explained[:1]]).split())
    text = next((meaning for word, meaning in UNEXPLAINED.items() if text.startswith(word)), text)
    return text if len(text) <= MAX_REASON else text[: MAX_REASON - 1] + "…"


def _after(metrics: list[Any], last: object) -> Iterable[Any]:
    """What follows the one seen last; everything, where that has been dropped meanwhile."""
    for position in range(len(metrics) - 1, -1, -1):
        if metrics[position] is last:
            return metrics[position + 1 :]
    return metrics
