"""textDocument/codeLens: what each function cost, above its ``def``."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from lsprotocol import types

from warplint.source.functions import Function, innermost
from warplint.source.span import Span
from warplint_server.document import Results
from warplint_server.measured import brief, marked
from warplint_server.notebook_document import NotebookDocument
from warplint_server.server import WarplintServer

if TYPE_CHECKING:
    from warplint.profile.follow import PlacedCost

A_STEP = " a step"


async def code_lens(server: WarplintServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    settled = await server.session.settled(params.text_document.uri)
    if settled is None or isinstance(settled[0], NotebookDocument) or not settled[0].settings.code_lenses:
        return []
    _, results = settled
    if results.measured.profile is None or not results.measured.costs:
        return []
    functions = await server.session.engine_worker.call(results.project.engine.functions, results.checked)
    own = _own_costs(functions, results)
    return [
        _lens(server, results, function, text)
        for function in functions
        if function in own and (text := _text(results, own[function]))
    ]


def _own_costs(functions: list[Function], results: Results) -> dict[Function, list[PlacedCost]]:
    """Each function's measured lines, without those of functions inside it."""
    owners = innermost(functions)
    own: dict[Function, list[PlacedCost]] = defaultdict(list)
    for line, placed in sorted(results.measured.costs.items()):
        if line in owners:
            own[owners[line]].append(placed)
    return own


def _text(results: Results, placed: list[PlacedCost]) -> str:
    profile = results.measured.profile
    assert profile is not None, "costs are of a capture"
    unit = A_STEP if profile.totals.steps else ""
    text = brief([it.cost for it in placed], profile.totals, unit)
    return marked(text, any(it.stale for it in placed))


def _lens(server: WarplintServer, results: Results, function: Function, text: str) -> types.CodeLens:
    """A text without a command: some editors show no lens that has no command at all."""
    source = results.source
    line = source.line(function.line)
    start = source.line_starts[function.line - 1]
    span = Span(start + len(line) - len(line.lstrip()), start + len(line))
    where = server.session.positions.range(source, span)
    return types.CodeLens(where, command=types.Command(title=text, command=""))
