"""Makes what old and foreign traces say otherwise read as today's Kineto says it."""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from warplint.profile.kineto.calls import BACKWARD_NODE
from warplint.profile.kineto.trace import NONE, Trace

UNRECORDED_LAUNCH = "(launch not recorded)"
"""Name of the host call that stands for one that the trace lacks."""


LONGEST_NS = 86_400 * 10**9
"""A day: no trace is as long. Kineto has written events with a time of 0, or of another clock, among good
ones."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What had to be done."""

    strays: int
    """Records left out, since their times cannot be of this trace."""
    launches: int
    """Pieces of GPU work for which a launch was made up, from their operator."""


def mend(trace: Trace) -> Mended:
    """Change a trace in place."""
    strays = _drop_strays(trace)
    _name_backward_nodes(trace)
    return Mended(strays, _launch_by_operator(trace))


def _drop_strays(trace: Trace) -> int:
    """Leave out what lies further from the others than any trace is long, or takes longer."""
    parts = [part for _, part in trace.host_spans()] + [trace.work]
    starts = [
        start for part in parts for start in (min(part.start, default=None), max(part.end, default=None))
    ]
    known = [start for start in starts if start is not None]
    if not known or max(known) - min(known) <= LONGEST_NS:
        return 0
    middle = statistics.median_low(chain.from_iterable(part.start for part in parts))
    dropped = 0
    for part in parts:
        kept = [
            index
            for index, start in enumerate(part.start)
            if abs(start - middle) <= LONGEST_NS and part.end[index] - start <= LONGEST_NS
        ]
        dropped += len(part) - len(kept)
        for column in part.all_columns:
            column[:] = array(column.typecode, map(column.__getitem__, kept))
        if part is trace.work:
            places = {index: place for place, index in enumerate(kept)}
            trace.operator_ids = {
                places[index]: operator for index, operator in trace.operator_ids.items() if index in places
            }
    return dropped


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
