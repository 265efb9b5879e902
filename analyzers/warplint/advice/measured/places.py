"""Where in a text, and in a capture, the signature of a finding's rule is looked for."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from warplint.advice.measured.reached import Reached
from warplint.advice.measured.unedited import Unedited
from warplint.profile.follow import PlacedCost
from warplint.profile.model import LineCost
from warplint.source.statements import statement_heads
from warplint.static.analyze import Analysis, Site
from warplint.static.finding import Finding
from warplint.static.inference.use import UseKind
from warplint.static.parsing.chunks import Chunk
from warplint.static.rules.signature import At, Metric

GOES_ON = frozenset({UseKind.STORED, UseKind.RETURNED, UseKind.PASSED})
"""Uses after which a value may cost something in places that are not followed."""

OF_THE_RUN = frozenset({Metric.DATA_IDLE})
"""Metrics whose cost stands on other lines than the one that shows that the thing is used: batches are made
in the data set's own lines."""


@dataclass(frozen=True, slots=True)
class Place:
    """The lines of a text (from 1) where a proof would stand, and the costs there; ``own`` is the finding's.

    ``evidence`` are the costs that count, where ``scope`` is LINE. ``is_whole`` says that there is no other
    place: only then does the absence of a cost refute anything.
    """

    own: int
    lines: tuple[int, ...]
    costs: tuple[PlacedCost, ...]
    evidence: tuple[LineCost, ...] = ()
    is_whole: bool = True
    is_unedited: bool = True
    """Whether the finding's statement is as it was captured."""
    tells: bool = True
    """Whether the lines elsewhere whose costs are its evidence are as they were: any program has some."""
    is_reached: bool = True
    """Whether the statement that the finding is of has run, or nothing says that it has not."""
    scope: At = At.LINE
    """RUN or STEP where the evidence is the same for every finding, whatever its place."""

    @property
    def has_run(self) -> bool:
        """Whether the host was on one of the lines in the captured steps."""
        return any(placed.cost.cpu_us > 0 for placed in self.costs)

    @property
    def is_stale(self) -> bool:
        return any(placed.stale for placed in self.costs)


def place_of(
    finding: Finding,
    site: Site,
    analysis: Analysis,
    costs: Mapping[int, PlacedCost],
    unedited: Unedited,
    reached: Reached,
) -> Place:
    """Where the capture would show what the finding says. ``costs`` are those of the text, by line."""
    place = _looked_for(finding, site, analysis, costs)
    place = replace(
        place, is_unedited=unedited.has(_header(analysis, place.own)), tells=_tells(place.scope, unedited)
    )
    if site.rule.proof.at is At.LINE or place.own in costs:
        return place
    return replace(place, is_reached=reached.may_have_run(site))


def _looked_for(
    finding: Finding,
    site: Site,
    analysis: Analysis,
    costs: Mapping[int, PlacedCost],
) -> Place:
    signature = site.rule.proof
    line = analysis.source.position(finding.span.start).line
    own = head(analysis, line)
    if signature.at in (At.RUN, At.STEP):
        return Place(own, (own,), _unchanged_first(costs), scope=signature.at)
    lines: tuple[int, ...] = (own,)
    is_whole = True
    if signature.at is At.USES:
        uses = site.facts.uses(site.node)
        used = {_line(analysis, site, use.node) for use in uses} - {None}
        lines = tuple(sorted({own, *(head(analysis, line) for line in used if line is not None)}))
        is_whole = not any(use.kind in GOES_ON for use in uses)
    elif signature.metric is Metric.KERNELS:
        lines = _statement(analysis, site, own)
    placed = tuple(costs[line] for line in lines if line in costs)
    if signature.metric in OF_THE_RUN and signature.at is At.USES:
        return Place(own, lines, _where_used(placed, own), is_whole=is_whole, scope=At.RUN)
    return Place(own, lines, placed, tuple(each.cost for each in placed if not each.stale), is_whole)


def _tells(scope: At, unedited: Unedited) -> bool:
    if scope is At.LINE:
        return True
    return unedited.is_program and (scope is At.RUN or unedited.has_updates)


def _header(analysis: Analysis, first: int) -> range:
    """The lines of the statement that begins on one, without what stands in its blocks."""
    last = first
    while last < len(analysis.source.line_starts) and head(analysis, last + 1) == first:
        last += 1
    return range(first, last + 1)


def head(analysis: Analysis, line: int) -> int:
    """The first line of the statement that a line belongs to, where costs stand."""
    chunks = analysis.chunks
    index = bisect.bisect_right([placed.line for placed in chunks], line) - 1
    if index < 0:
        return line
    above = chunks[index].line - 1
    return _heads(chunks[index].chunk).get(line - above, line - above) + above


@lru_cache(maxsize=512)
def _heads(chunk: Chunk) -> dict[int, int]:
    """Kept, since an editor asks again at every keystroke, and most chunks stay."""
    return statement_heads(chunk.tree) if chunk.fault is None else {}


def _unchanged_first(costs: Mapping[int, PlacedCost]) -> tuple[PlacedCost, ...]:
    """For what concerns the whole run: lines that are edited do not speak against the others."""
    ran = tuple(placed for placed in costs.values() if not placed.stale)
    return ran or tuple(costs.values())


def _where_used(placed: tuple[PlacedCost, ...], own: int) -> tuple[PlacedCost, ...]:
    """The costs of uses alone: that a thing was made within the captured steps says nothing of its use."""
    return tuple(each for each in placed if each.line != own) or placed


def _line(analysis: Analysis, site: Site, node: ast.AST) -> int | None:
    if not isinstance(node, ast.expr | ast.stmt):
        return None
    return analysis.source.position(site.facts.span(node).start).line


def _statement(analysis: Analysis, site: Site, own: int) -> tuple[int, ...]:
    """The lines of the statement around a finding: of a loop, its body too."""
    span = site.facts.span(site.facts.statement(site.node))
    last = analysis.source.position(span.end).line
    return tuple(range(own, max(own, last) + 1))
