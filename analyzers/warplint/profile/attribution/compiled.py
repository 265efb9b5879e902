"""The inner lines of compiled regions: which statements each launch of a compiled graph comes from.

Every call of a compiled graph stands in the trace under the graph's key, ``## Call CompiledFxGraph <key> ##``
(an operator up to torch 2.12, an annotation after), on the thread that makes it: autograd's in the backward
pass. What it launches is put beside what Inductor generated, in order:

1. kernels that Inductor wrote keep their name on the GPU; operators that it calls (``extern_kernels.mm``)
   keep theirs in the trace. Of each name, the n-th launch is the n-th in the code, if there are as many;
2. what is left lies between two that are known, and belongs to what was generated between them: in a replayed
   CUDA graph, whose records name no operators, these are the calls of libraries.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warplint.profile.kineto.nesting import ThreadNesting, by_thread
from warplint.profile.kineto.trace import NONE, HostSpans, Trace, spans_named
from warplint.profile.raw.compiled import RawGraph
from warplint.profile.timeline import NOWHERE, Places

GRAPH_CALL = "## Call CompiledFxGraph "
GRAPH_LAUNCH = "GraphLaunch"
"""In the names of ``cudaGraphLaunch`` and of its kin."""

_KEY = re.compile(re.escape(GRAPH_CALL) + r"(\S+)")
_OPERATOR = re.compile(r"^(?:torch\.ops\.\w+\.|aten\.|extern_kernels\.)(\w+)")


@dataclass(frozen=True, slots=True)
class _Launch:
    """A kernel or copy of one call of a graph, ``names`` are those it may have in the generated code."""

    work: tuple[int, ...]
    """Its records: a call of a library may start several."""
    names: tuple[str, ...]
    free: bool = True
    """Whether, by no name of the generated code, it may be one of those that lie between its neighbours."""


class CompiledLines:
    """Answers for one window. The trace's times must already be the timeline's."""

    def __init__(self, trace: Trace, graphs: Sequence[RawGraph], places: Places) -> None:
        self._trace, self._places = trace, places
        self._graphs = _by_key(graphs)
        self._aligned: dict[tuple[str, tuple[tuple[tuple[str, ...], bool], ...]], list[tuple[int, ...]]] = {}
        self._of_work: dict[int, tuple[int, ...]] = {}
        self._single_work: dict[int, int] = {}
        """Of each call that started just one piece of work: that."""
        self.unknown = 0
        """Pieces of GPU work in calls of graphs whose lines are recorded, that cannot be told apart."""
        if self._graphs:
            self._single_work = _single_work(trace)
            for key, launches in _GraphCalls(trace).launches():
                if key in self._graphs:
                    self._take(key, launches)

    def of_work(self, work: int) -> tuple[int, ...]:
        """The places that a piece of GPU work comes from; empty where it is none of a compiled graph's."""
        return self._of_work.get(work, ())

    def of_call(self, call: int) -> tuple[int, ...]:
        """The places of what a call launched; none for the replay of a CUDA graph, which is one launch."""
        correlation = self._trace.calls.correlation[call]
        return self._of_work.get(self._single_work.get(correlation, NONE), ())

    def _take(self, key: str, launches: list[_Launch]) -> None:
        shape = (key, tuple((launch.names, launch.free) for launch in launches))
        if shape not in self._aligned:
            self._aligned[shape] = self._align(self._graphs[key], launches)
        for launch, places in zip(launches, self._aligned[shape], strict=True):
            if places:
                self._of_work.update(dict.fromkeys(launch.work, places))
            else:
                self.unknown += len(launch.work)

    def _align(self, graph: RawGraph, launches: list[_Launch]) -> list[tuple[int, ...]]:
        """The places of each launch, in order."""
        generated = [_short(kernel.name) for kernel in graph.kernels]
        lines = [self._statements(kernel.lines) for kernel in graph.kernels]
        partners = match(generated, [launch.names for launch in launches])
        found = []
        for index, launch in enumerate(launches):
            own = partners[index]
            candidates = between(partners, index, len(generated)) if launch.free else range(0)
            found.append(_union([lines[position] for position in ([own] if own is not None else candidates)]))
        return found

    def _statements(self, lines: Sequence[tuple[int, int]]) -> tuple[int, ...]:
        places = (self._places.number(source, line) for source, line in lines)
        return tuple(dict.fromkeys(place for place in places if place != NOWHERE))


def match(generated: Sequence[str], launches: Sequence[tuple[str, ...]]) -> list[int | None]:
    """For each launch the position in ``generated`` that it surely is."""
    positions: dict[str, list[int]] = defaultdict(list)
    for position, name in enumerate(generated):
        positions[name].append(position)
    named: dict[str, list[int]] = defaultdict(list)
    for index, names in enumerate(launches):
        known = next((name for name in names if name in positions), None)
        if known is not None:
            named[known].append(index)
    partners: list[int | None] = [None] * len(launches)
    for name, indices in named.items():
        if len(indices) == len(positions[name]):
            for index, position in zip(indices, positions[name], strict=True):
                partners[index] = position
    return partners


def between(partners: Sequence[int | None], index: int, generated: int) -> range:
    """The positions that launch ``index``, which has none of its own, may be: between its neighbours'."""
    before = next((known for known in reversed(partners[:index]) if known is not None), -1)
    after = next((known for known in partners[index + 1 :] if known is not None), generated)
    return range(before + 1, after)


class _GraphCalls:
    """The calls of compiled graphs in a trace, with what each launched."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._spans = HostSpans()
        for spans in (trace.operators, trace.annotations):
            for span in spans_named(trace, spans, (GRAPH_CALL,)):
                for column, value in zip(self._spans.span_columns, _row(spans, span), strict=True):
                    column.append(value)
        self._work_of: dict[int, list[int]] = defaultdict(list)
        for index, correlation in enumerate(trace.work.correlation):
            self._work_of[correlation].append(index)

    def launches(self) -> Iterator[tuple[str, list[_Launch]]]:
        """Key and launches in order of each call of a graph that launched anything."""
        calls = self._calls_by_span()
        operators = {
            thread: ThreadNesting(self._trace.operators, members)
            for thread, members in by_thread(self._trace.operators, range(len(self._trace.operators))).items()
            if calls
        }
        for span, members in calls.items():
            name = _KEY.match(self._trace.text(self._spans.name[span]))
            if name is not None:
                nesting = operators.get(self._spans.thread[span])
                yield name[1], list(self._launches(span, sorted(members, key=self._start), nesting))

    def _start(self, call: int) -> int:
        return self._trace.calls.start[call]

    def _calls_by_span(self) -> dict[int, list[int]]:
        threads = {
            thread: ThreadNesting(self._spans, members)
            for thread, members in by_thread(self._spans, range(len(self._spans))).items()
        }
        calls, found = self._trace.calls, defaultdict[int, list[int]](list)
        for call, thread in enumerate(calls.thread):
            if thread in threads and self._work_of.get(calls.correlation[call]):
                span = next(threads[thread].around(calls.start[call]), None)
                if span is not None:
                    found[span].append(call)
        return found

    def _launches(self, span: int, calls: list[int], operators: ThreadNesting | None) -> Iterator[_Launch]:
        """The calls of a span. What one operator started is one launch; of a CUDA graph, each kernel is."""
        pending: list[int] = []
        last: int | None = None
        replays = any(self._replays(call) for call in calls)
        for call in calls:
            work = sorted(self._work_of[self._trace.calls.correlation[call]], key=self._work_start)
            alone = self._replays(call)
            operator = None if alone or operators is None else self._outermost(span, call, operators)
            if pending and (operator is None or operator != last):
                yield self._launch(pending, last, replays)
                pending = []
            if operator is None:
                yield from (self._launch([each], None, replays) for each in work)
            else:
                pending.extend(work)
            last = operator
        if pending:
            yield self._launch(pending, last, replays)

    def _replays(self, call: int) -> bool:
        return GRAPH_LAUNCH in self._trace.text(self._trace.calls.name[call])

    def _work_start(self, work: int) -> int:
        return self._trace.work.start[work]

    def _outermost(self, span: int, call: int, operators: ThreadNesting) -> int | None:
        """The outermost operator inside the span that the call lies in."""
        found, columns = None, self._trace.operators
        for operator in operators.around(self._trace.calls.start[call]):
            if columns.start[operator] < self._spans.start[span] or (
                self._trace.text(columns.name[operator]).startswith(GRAPH_CALL)
            ):
                break
            found = operator
        return found

    def _launch(self, work: list[int], operator: int | None, replays: bool) -> _Launch:
        names = dict.fromkeys(self._trace.text(self._trace.work.name[each]) for each in work)
        if operator is not None:
            names[self._trace.text(self._trace.operators.name[operator]).rpartition("::")[2]] = None
        # Beside a replayed graph, an operator copies what goes into it, and is none of its own.
        return _Launch(tuple(work), tuple(names), free=operator is None or not replays)


def _single_work(trace: Trace) -> dict[int, int]:
    numbers = Counter(trace.work.correlation)
    return {
        correlation: index
        for index, correlation in enumerate(trace.work.correlation)
        if numbers[correlation] == 1
    }


def _row(spans: HostSpans, span: int) -> tuple[int, ...]:
    return tuple(column[span] for column in spans.span_columns)


def _by_key(graphs: Sequence[RawGraph]) -> dict[str, RawGraph]:
    """Graphs by the key in the trace, where one without is called ``None``, and several cannot be told."""
    found = {graph.key: graph for graph in graphs if graph.key is not None}
    nameless = [graph for graph in graphs if graph.key is None]
    if len(nameless) == 1:
        found["None"] = nameless[0]
    return found


def _short(name: str) -> str:
    """``extern_kernels.mm`` and ``torch.ops.aten.mm.default`` as the trace has them: ``mm``."""
    operator = _OPERATOR.match(name)
    return operator[1] if operator else name


def _union(places: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(place for each in places for place in each))
