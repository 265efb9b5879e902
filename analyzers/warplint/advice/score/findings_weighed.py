"""What findings take off a score: what a capture measured of them, and else what the table says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from warplint.advice.score.weights import COSTS, HIGHEST, HOLDS, PERCENT_LOST, REPEATED
from warplint.project.engine import all_rules
from warplint.source.text import SourceText
from warplint.static.finding import Confidence, Finding, Hotness, Lost, Outcome
from warplint.static.rules.rule import At, Risk, Rule

COUNTED_TO = 10
"""Percent are counted to a tenth, as they are printed: whoever adds up the parts comes to the same."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A finding that counts: the risk it has where it stands, what the table takes for it, its line, from 1.

    ``lost`` is the time that it was measured to lose, and ``counted`` what no dearer finding counts of that;
    None where nothing was measured.
    """

    finding: Finding
    risk: Risk
    cost: Fraction
    line: int
    counted: tuple[Lost, ...] | None = None

    @property
    def title(self) -> str:
        return f"{self.finding.code} {self.finding.name}"

    @property
    def lost(self) -> tuple[Lost, ...]:
        return _lost(self.finding) or ()

    @property
    def sureness(self) -> Confidence:
        """What is only possible and was measured is no mere possibility any more."""
        possible = self.finding.confidence is Confidence.POSSIBLE
        return Confidence.LIKELY if possible and self.counted is not None else self.finding.confidence

    @property
    def hold(self) -> int:
        """The highest value of a file with this finding; one that measuring made is weighed by its cost."""
        if _is_found(self.finding):
            return HIGHEST
        return HOLDS.get((self.risk, self.finding.confidence), HIGHEST)


@dataclass(frozen=True, slots=True)
class Group:
    """The findings of one rule that are equally sure, all or none of them measured: one part of the score."""

    members: tuple[Weighed, ...]

    @property
    def title(self) -> str:
        return self.members[0].title

    @property
    def line(self) -> int:
        return self.members[0].line

    @property
    def points(self) -> int:
        """What was measured, else what the table takes; halves are rounded up."""
        points = sum((each.cost for each in self.members), Fraction())
        if self._is_measured:
            points = PERCENT_LOST * _percent(self._counted)
        return math.floor(points + Fraction(1, 2))

    @property
    def label(self) -> str:
        finding = self.members[0].finding
        sure = "" if _is_found(finding) else f", {finding.confidence.value}"
        places = f", {len(self.members)} places" if len(self.members) > 1 else ""
        return f"{self.title}{sure}{places}{self._measured()}"

    @property
    def _is_measured(self) -> bool:
        return self.members[0].counted is not None

    @property
    def _counted(self) -> Iterator[Lost]:
        return (lost for each in self.members for lost in each.counted or ())

    def _measured(self) -> str:
        if not self._is_measured:
            return ""
        lost, counted = _percent(lost for each in self.members for lost in each.lost), _percent(self._counted)
        part = f"{_as_percent(lost - counted)} " if counted else ""
        elsewhere = "" if counted == lost else f" ({part}counted elsewhere)"
        return f", loses {_as_percent(lost)} of a step{elsewhere}"


def weigh(source: SourceText, findings: Iterable[Finding]) -> list[Weighed]:
    """Findings of rules and of measuring that were not refuted, surer ones first.

    Each further one of a rule that was not measured costs less, and time that several speak of counts for
    the dearest of them.
    """
    order = list(Confidence)
    held = [each for each in findings if not _is_refuted(each) and (_is_found(each) or each.code in _rules())]
    counted = _counted(held)
    repeats: Counter[str] = Counter()
    weighed = []
    for finding in sorted(held, key=lambda it: (order.index(it.confidence), it.span.start, it.code)):
        rule = _rules().get(finding.code)
        risk = rule.risk if rule is not None and _is_hot(finding, rule) else Risk.LOW
        cost = COSTS[risk, finding.confidence] * REPEATED ** repeats[finding.code]
        repeats[finding.code] += _lost(finding) is None
        weighed.append(Weighed(finding, risk, cost, _line(source, finding), counted.get(finding)))
    return weighed


def refuted(source: SourceText, findings: Iterable[Finding]) -> list[Weighed]:
    """What a capture has shown to cost nothing."""
    return [
        Weighed(finding, Risk.LOW, Fraction(), _line(source, finding))
        for finding in findings
        if _is_refuted(finding)
    ]


def groups(weighed: Sequence[Weighed]) -> list[Group]:
    """Equally sure findings by rule, dearest first; those that were measured by themselves."""
    by_rule: dict[tuple[str, Confidence, bool], list[Weighed]] = {}
    for each in weighed:
        key = each.finding.code, each.finding.confidence, each.counted is not None
        by_rule.setdefault(key, []).append(each)
    return sorted((Group(tuple(members)) for members in by_rule.values()), key=lambda group: -group.points)


def _counted(findings: Iterable[Finding]) -> Mapping[Finding, tuple[Lost, ...]]:
    """The time that counts for each finding that was measured: what a dearer one has not claimed."""
    claimed: set[tuple[str, str, int, str]] = set()
    counted = {}
    for finding in sorted(findings, key=lambda finding: (-_share(finding), finding.span.start, finding.code)):
        lost = _lost(finding)
        if lost is None:
            continue
        counted[finding] = tuple(each for each in lost if each.key not in claimed)
        claimed.update(each.key for each in lost)
    return counted


def _share(finding: Finding) -> float:
    return sum(each.share for each in _lost(finding) or ())


def _lost(finding: Finding) -> tuple[Lost, ...] | None:
    return finding.measured.lost if finding.measured is not None else None


def _percent(lost: Iterable[Lost]) -> Fraction:
    """Of a step, to a tenth; the same time counts once."""
    once = {each.key: each.share for each in lost}
    return Fraction(round(sum(once.values()) * 100 * COUNTED_TO), COUNTED_TO)


def _as_percent(percent: Fraction) -> str:
    return f"{float(percent):.1f}%"


def _is_hot(finding: Finding, rule: Rule) -> bool:
    """Whether it costs every step: of effects elsewhere than on the line, the rule has judged that itself."""
    return finding.hotness is Hotness.STEP or rule.proof.at is not At.LINE


def _is_refuted(finding: Finding) -> bool:
    return finding.measured is not None and finding.measured.outcome is Outcome.REFUTED


def _is_found(finding: Finding) -> bool:
    return finding.measured is not None and finding.measured.outcome is Outcome.FOUND


def _line(source: SourceText, finding: Finding) -> int:
    return source.position(finding.span.start).line


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Rule]:
    return {rule.code: rule for rule in all_rules()}
