"""Makes what old and foreign traces say otherwise read as today's Kineto says it."""

from __future__ import annotations

from collections.abc import Iterable

from warplint.profile.calls import BACKWARD_NODE
from warplint.profile.trace import NONE, Trace

UNRECORDED_LAUNCH = "(launch not recorded)"
"""Name of the host call that stands for one that the trace lacks."""


def mend(trace: Trace) -> int:
    """Change a trace in place. Returns for how much GPU work a launch was made up, from its operator."""
    _name_backward_nodes(trace)
    return _launch_by_operator(trace)


def _name_backward_nodes(trace: Trace) -> None:
    """torch 1.8 recorded backward nodes by their bare name; they are what knows its forward thread."""
    operators, names = trace.operators, trace.names
    if any(text.startswith(BACKWARD_NODE) for text in names.texts):
        return
    for index, forward_thread in enumerate(operators.forward_thread):
        if forward_thread > 0:
            name = names.texts[operators.name[index]]
            operators.name[index] = names.number(BACKWARD_NODE + name)


def _launch_by_operator(trace: Trace) -> int:
    """GPU work without a correlation names its operator, which then counts as the launch."""
    wanted = {external for external in trace.operator_ids.values() if external != NONE}
    if not wanted:
        return 0
    operators, calls, work = trace.operators, trace.calls, trace.work
    found = {external: index for index, external in _last_with(operators.external, wanted)}
    name, correlation, made = trace.names.number(UNRECORDED_LAUNCH), NONE - 1, 0
    for index, external in trace.operator_ids.items():
        operator = found.get(external)
        if operator is None:
            continue
        start = operators.start[operator]
        row = (name, operators.thread[operator], start, start, correlation)
        for column, value in zip(calls.all_columns, row, strict=True):
            column.append(value)
        work.correlation[index] = correlation
        correlation, made = correlation - 1, made + 1
    return made


def _last_with(externals: Iterable[int], wanted: set[int]) -> Iterable[tuple[int, int]]:
    return ((index, external) for index, external in enumerate(externals) if external in wanted)
