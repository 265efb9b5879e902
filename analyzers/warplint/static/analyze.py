"""From a text to its findings, reusing what is unchanged since an earlier version."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from warplint.source.diffs import MovedLines
from warplint.source.records import dataclass, field
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Finding, Related
from warplint.static.inference.abroad import Abroad, View
from warplint.static.inference.knowledge import Knowledge
from warplint.static.inference.questions import Answers, Ground, Question
from warplint.static.inference.revision import Revision, read_same
from warplint.static.parsing.chunks import Chunk, Placed, split, split_again, whole
from warplint.static.rules.nominate import Nominator
from warplint.static.rules.rule import Rule, Verdict
from warplint.static.rules.rule_index import AnyRule, imported
from warplint.static.structure.hotness import HotnessMap
from warplint.static.structure.index import Index
from warplint.static.structure.location import confidence_in, within
from warplint.static.tables.frameworks import shows_pytorch
from warplint.static.torch_version import NEWEST, TorchVersion

TOO_DEEP = "nested too deeply to be analysed"


@dataclass(frozen=True, slots=True)
class Broken:
    """A part of the text that cannot be analysed, and why. ``span`` is where the parser gave up."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Site:
    """What a finding was made from: the rule, the node it underlines, and the facts it asked."""

    rule: Rule
    node: ast.expr
    facts: Facts


@dataclass(frozen=True, slots=True)
class Told:
    """What the rules found in one chunk, and what they were told of the rest of the module.

    ``found`` holds spans as they stood when the chunk started at ``start``; ``facts`` is all that the answers
    to what they ``asked`` rest on. ``points_out`` says that some of the spans are in other chunks.
    """

    start: int
    found: tuple[tuple[Finding, Rule, ast.expr], ...]
    asked: Answers
    facts: frozenset[Question]
    points_out: bool


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One version of a text, analysed. ``findings`` are sorted by place; ``sites`` has those that are this
    version's own, not those kept from before in a part that does not parse. ``readable`` are the chunks that
    rules were run on; while some chunk does not parse, ``replaced`` are those of earlier versions that are
    gone since, so that half a word does not make the file another one. ``reads`` are the other files and the
    folders that the findings rest on. ``facts`` may hold what only earlier versions rested on. ``index`` and
    ``others`` are what the next version starts from."""

    source: SourceText
    findings: tuple[Finding, ...]
    broken: tuple[Broken, ...]
    sites: dict[Finding, Site]
    chunks: tuple[Placed, ...] = ()
    readable: tuple[Placed, ...] = ()
    replaced: tuple[Placed, ...] = ()
    told: Mapping[Chunk, Told] = field(default_factory=dict)
    facts: Answers = field(default_factory=dict)
    reads: frozenset[Path] = frozenset()
    index: Index | None = None
    others: View | None = None


class Analyzer:
    """Runs rules over texts. Keeps nothing between texts: pass the last analysis to reuse it.

    ``root`` is the project's folder: where a file stands in it says how sure its findings are. ``torch`` is
    what its programs run with. With ``others``, what a file imports from its project's other files counts.
    Texts that are looked at ``once`` are not cut into what an edit leaves alone.
    """

    def __init__(
        self,
        rules: Sequence[AnyRule],
        root: Path | None = None,
        torch: TorchVersion = NEWEST,
        others: Abroad | None = None,
        *,
        once: bool = False,
    ) -> None:
        self._nominator = Nominator(rules)
        self._root = root
        self._torch = torch
        self._others = others
        self._once = once

    def analyze(self, source: SourceText, previous: Analysis | None = None) -> Analysis:
        """Analyse a text of any content. ``previous`` is an earlier version of the same file."""
        if self._once:
            previous = None
        if self._once and (chunk := whole(source.text)) is not None:
            analysis = self._analysis(source, [chunk], None)
            # What is nested too deeply takes the whole with it.
            if not analysis.broken:
                return analysis
        if previous is None or not previous.chunks:
            chunks = split(source.text, source.line_starts, {})
        else:
            before = previous.source.text
            chunks = split_again(source.text, source.line_starts, before, previous.chunks)
        return self._analysis(source, chunks, previous)

    def _analysis(self, source: SourceText, placed: list[Placed], previous: Analysis | None) -> Analysis:
        if not shows_pytorch(source.text):
            return Analysis(source, (), _broken(source, placed), {}, tuple(placed))
        path = within(source.path, self._root)
        return _Run(
            self._nominator,
            source,
            placed,
            previous,
            path,
            self._torch,
            self._view(source, previous),
            notes=not self._once,
        ).result()

    def _view(self, source: SourceText, previous: Analysis | None) -> View | None:
        """The project's other files as this one sees them: as before, where that holds."""
        if self._others is None:
            return None
        before = previous.others if previous is not None else None
        if before is not None and before.still_holds(self._others):
            return before
        return self._others.seen_from(Path(os.path.normpath(source.path.absolute())))


class _Run:
    """The analysis of one version."""

    def __init__(
        self,
        nominator: Nominator,
        source: SourceText,
        chunks: list[Placed],
        previous: Analysis | None,
        path: Path,
        torch: TorchVersion,
        others: View | None,
        *,
        notes: bool,
    ) -> None:
        self._nominator = nominator
        self._source = source
        self._chunks = chunks
        self._previous = previous
        self._too_deep: set[Placed] = set()
        self._others = others
        self._readable = [placed for placed in chunks if self._can_be_outlined(placed)]
        before = previous.index if previous is not None else None
        sees_same = previous is not None and previous.others is others
        if before is not None and sees_same and read_same(before.chunks, self._readable):
            index = before.moved(self._readable)
        else:
            index = Index(self._readable, others.class_role if others is not None else lambda name: None)
        self._index = index
        self._revision = Revision(before, index, sees_same) if before is not None else None
        if self._revision is not None and not self._revision.is_unread:
            index.heat = HotnessMap(index, self._revision)
        self._knowledge = Knowledge(index, others, notes=notes)
        self._facts = Facts(source, self._knowledge, path, torch)
        self._interesting = nominator.interesting(index.aliases)
        self._told: dict[Chunk, Told] = {}
        self._facts_found: Answers = {}

    def _can_be_outlined(self, placed: Placed) -> bool:
        try:
            return placed.chunk.outline is not None
        except RecursionError:
            self._too_deep.add(placed)
            return False

    def result(self) -> Analysis:
        sites: dict[Finding, Site] = {}
        for placed in self._index.chunks:
            for finding, rule, node in self._chunk_findings(placed):
                sites[finding] = Site(rule, node, self._facts)
        deep = [Broken(Span(placed.start, placed.start), TOO_DEEP) for placed in self._too_deep]
        broken = sorted([*_broken(self._source, self._chunks), *deep], key=lambda part: part.span)
        findings = {*sites, *self._kept()}
        return Analysis(
            self._source,
            tuple(sorted(findings, key=_order)),
            tuple(broken),
            sites,
            tuple(self._chunks),
            tuple(self._index.chunks),
            self._replaced(),
            self._told,
            self._known_facts(),
            frozenset(self._others.reads) if self._others is not None else frozenset(),
            self._index,
            self._others,
        )

    def _replaced(self) -> tuple[Placed, ...]:
        previous = self._previous
        if previous is None or all(placed.chunk.fault is None for placed in self._chunks):
            return ()
        present = {placed.chunk for placed in self._chunks}
        known = [*previous.replaced, *previous.readable]
        return tuple(placed for placed in known if placed.chunk not in present)

    def _chunk_findings(self, placed: Placed) -> list[tuple[Finding, Rule, ast.expr]]:
        reused = self._reused(placed)
        if reused is None:
            reused = self._judged(placed)
        # What was too deep is to be found so, and said, in the next version too.
        if placed not in self._too_deep:
            self._told[placed.chunk] = reused
        return list(reused.found)

    def _judged(self, placed: Placed) -> Told:
        """Ask the rules about every site of a chunk."""
        found: list[tuple[Finding, Rule, ast.expr]] = []
        with self._knowledge.listening() as asked, self._knowledge.resting() as ground:
            self._facts.begin(placed, placed.chunk.tree)
            nominated = self._nominator.sites(
                placed.chunk.outline,
                self._interesting,
                self._facts.qualified,
                self._facts.is_builtin,
                self._knowledge.is_computed,
            )
            for declared, node in nominated:
                rule = imported(declared)
                self._facts.begin(placed, node)
                try:
                    verdict = rule.check(node, self._facts)
                except RecursionError:
                    self._too_deep.add(placed)
                    continue
                if verdict is not None:
                    found.append((self._finding(rule, verdict), rule, verdict.node))
        points_out = any(not _within(finding, placed.start, placed.end) for finding, _, _ in found)
        return Told(placed.start, tuple(found), asked, self._facts_of(ground), points_out)

    def _facts_of(self, ground: Ground) -> frozenset[Question]:
        facts = ground.all_facts()
        self._facts_found.update(facts)
        return frozenset(facts)

    def _known_facts(self) -> Answers:
        """The facts that this version's findings rest on, those of the last version's among them."""
        if self._previous is None:
            return self._facts_found
        if not self._changed and not self._facts_found:
            return self._previous.facts
        known = {
            question: answer
            for question, answer in self._previous.facts.items()
            if question not in self._changed
        }
        return known | self._facts_found

    @cached_property
    def _changed(self) -> frozenset[Question]:
        """Of the facts that the last version's findings rest on, those that are no longer so."""
        if self._previous is None or self._revision is None:
            return frozenset()
        return self._knowledge.changed(self._previous.facts, self._revision)

    def _finding(self, rule: Rule, verdict: Verdict) -> Finding:
        span = self._facts.span(verdict.node)
        if verdict.through is not None:
            span = Span(span.start, self._facts.span(verdict.through).end)
        return Finding(
            rule.code,
            rule.name,
            verdict.message,
            span,
            confidence_in(self._facts.path, verdict.confidence),
            self._facts.hotness(verdict.node),
            verdict.fix,
            verdict.fix_title,
            verdict.related,
        )

    def _reused(self, placed: Placed) -> Told | None:
        """The last version's findings of a chunk, moved with it, if all that they rest on is as it was."""
        told = self._previous.told.get(placed.chunk) if self._previous is not None else None
        if told is None or (self._revision is not None and self._revision.renames_in(placed.chunk)):
            return None
        facts = told.facts
        if not facts.isdisjoint(self._changed):
            with self._knowledge.resting() as ground:
                if any(self._knowledge.again(asked) != answer for asked, answer in told.asked.items()):
                    return None
            facts = self._facts_of(ground)
        moved = placed.start - told.start
        if not moved and facts is told.facts:
            return told
        if moved and told.points_out:
            return None
        found = tuple((_shifted(finding, moved), rule, node) for finding, rule, node in told.found)
        return Told(placed.start, found, told.asked, facts, told.points_out)

    def _kept(self) -> list[Finding]:
        """Findings of the last version in what does not parse now, on lines that did not change."""
        spans = [Span(placed.start, placed.end) for placed in self._chunks if placed.chunk.fault is not None]
        if self._previous is None or not spans or not self._previous.findings:
            return []
        before = self._previous.source
        lines = MovedLines(before, self._source)
        kept = []
        for finding in self._previous.findings:
            start = finding.span.start
            if finding.span.end <= lines.start or start >= lines.end:
                # It stands where it stood, or moves with the rest: mostly not among what does not parse.
                start += lines.shift if start >= lines.end else 0
                if not _is_in(start, spans):
                    continue
            moved = _on_moved_lines(finding, before, self._source, lines)
            if moved is not None and _is_in(moved.span.start, spans):
                kept.append(moved)
        return kept


def _order(finding: Finding) -> tuple[int, int, str, str]:
    return finding.span.start, finding.span.end, finding.code, finding.message


def _is_in(place: int, spans: Sequence[Span]) -> bool:
    return any(span.start <= place < span.end for span in spans)


def _within(finding: Finding, start: int, end: int) -> bool:
    return all(
        start <= span.start and span.end <= end for span in [finding.span, *(r.span for r in finding.related)]
    )


def _shifted(finding: Finding, by: int) -> Finding:
    if not by:
        return finding
    related = finding.related and tuple(
        Related(Span(each.span.start + by, each.span.end + by), each.message) for each in finding.related
    )
    return _placed_at(finding, Span(finding.span.start + by, finding.span.end + by), related, finding.fix)


def _placed_at(finding: Finding, span: Span, related: tuple[Related, ...], fix: Applicability) -> Finding:
    return Finding(
        finding.code, finding.name, finding.message, span, finding.confidence, finding.hotness,
        fix, finding.fix_title if fix is not Applicability.NONE else "", related,
    )  # fmt: skip


def _on_moved_lines(
    finding: Finding, before: SourceText, now: SourceText, lines: MovedLines
) -> Finding | None:
    """The finding where its lines stand now, without a fix; None if one of its lines changed."""
    first = before.position(finding.span.start)
    last = before.position(finding.span.end)
    target = lines.get(first.line)
    if target is None:
        return None
    if any(lines.get(line) != target + line - first.line for line in range(first.line, last.line + 1)):
        return None
    start = now.line_starts[target - 1] + first.column - 1
    return _placed_at(
        finding, Span(start, start + finding.span.end - finding.span.start), (), Applicability.NONE
    )


def _broken(source: SourceText, chunks: Sequence[Placed]) -> tuple[Broken, ...]:
    return tuple(
        Broken(_fault_span(source, placed), placed.chunk.fault.message)
        for placed in chunks
        if placed.chunk.fault is not None
    )


def _fault_span(source: SourceText, placed: Placed) -> Span:
    """The rest of the line from where the parser gave up."""
    fault = placed.chunk.fault
    assert fault is not None
    line = min(placed.line + fault.line - 1, source.line_count)
    text = source.line(line)
    start = source.line_starts[line - 1]
    column = min(fault.column, len(text))
    return Span(start + column, start + len(text))
