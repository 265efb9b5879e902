"""How friendly a file's code is to the GPU: a number from 0 to 100, and the parts that add up to it.

docs/score.md says to users what is done here; the numbers are in ``weights`` and ``practices``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from warplint.advice.gpu_code import works_on_gpu
from warplint.advice.practices import PRACTICES, Found, Practices
from warplint.advice.weights import (
    CHANGES_BAND,
    COSTS,
    FLOORS,
    HIGHEST,
    HOLDS,
    PRACTICE_LIMIT,
    REPEATED,
    START,
    Band,
)
from warplint.project.engine import Checked, all_rules
from warplint.static.chunks import Placed
from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Finding, Hotness
from warplint.static.index import Index
from warplint.static.knowledge import Knowledge
from warplint.static.rule import At, Risk, Rule


@dataclass(frozen=True, slots=True)
class Part:
    """One reason for the number. ``line`` counts from 1; None where the whole file is meant."""

    label: str
    points: int
    line: int | None


@dataclass(frozen=True, slots=True)
class Score:
    """``value`` from 0 to 100 is the sum of the points of its parts; ``summary`` is one sentence."""

    value: int
    band: Band
    summary: str
    parts: tuple[Part, ...]


def score(checked: Checked) -> Score | None:
    """The score of a checked text; None for one without GPU code."""
    analysis = checked.analysis
    chunks = [*analysis.replaced, *analysis.readable]
    if not chunks:
        return None
    index = Index(chunks)
    facts = Facts(checked.source, Knowledge(index))
    weighed = _weighed(checked)
    if not weighed and not works_on_gpu(index, facts):
        return None
    sheet = _Sheet()
    sheet.add("where every file with GPU code starts", START)
    _count_practices(sheet, _practices().found(index, facts), set(analysis.replaced))
    for confidence in Confidence:
        _count_findings(sheet, [each for each in weighed if each.finding.confidence is confidence])
    if sheet.value < FLOORS[Band.RED]:
        sheet.add(f"no score is below {FLOORS[Band.RED]}", FLOORS[Band.RED] - sheet.value)
    broken = _first_broken_line(checked)
    if broken is not None:
        sheet.add(f"line {broken} does not parse: the rest of the file counts", 0, broken)
    return Score(sheet.value, band_of(sheet.value), _summary(sheet, weighed, broken), tuple(sheet.parts))


def band_of(value: int) -> Band:
    return next(band for band in reversed(Band) if value >= FLOORS[band] or band is Band.RED)


@dataclass(slots=True)
class _Sheet:
    """The parts written so far; the value is never anything but their sum."""

    parts: list[Part] = field(default_factory=list)
    held_by: Weighed | None = None

    @property
    def value(self) -> int:
        return sum(part.points for part in self.parts)

    def add(self, label: str, points: int, line: int | None = None) -> None:
        self.parts.append(Part(label, points, line))


@dataclass(frozen=True, slots=True)
class Weighed:
    """A finding that counts: with the risk it has where it stands, what it costs, and its line, from 1."""

    finding: Finding
    risk: Risk
    cost: Fraction
    line: int

    @property
    def title(self) -> str:
        return f"{self.finding.code} {self.finding.name}"

    @property
    def hold(self) -> int:
        """The highest value of a file with this finding."""
        return HOLDS.get((self.risk, self.finding.confidence), HIGHEST)


def _weighed(checked: Checked) -> list[Weighed]:
    """The rules' findings, surer ones first; each further one of a rule costs less."""
    order = list(Confidence)
    repeats: Counter[str] = Counter()
    weighed = []
    for finding in sorted(checked.findings, key=lambda finding: order.index(finding.confidence)):
        rule = _rules().get(finding.code)
        if rule is None:
            continue
        risk = rule.risk if _is_hot(finding, rule) else Risk.LOW
        cost = COSTS[risk, finding.confidence] * REPEATED ** repeats[finding.code]
        repeats[finding.code] += 1
        line = checked.source.position(finding.span.start).line
        weighed.append(Weighed(finding, risk, cost, line))
    return weighed


def _is_hot(finding: Finding, rule: Rule) -> bool:
    """Whether it costs every step: of effects elsewhere than on the line, the rule has judged that itself."""
    return finding.hotness is Hotness.STEP or rule.proof.at is not At.LINE


def _count_practices(sheet: _Sheet, found: Sequence[Found], replaced: Collection[Placed]) -> None:
    for each in found:
        sheet.add(each.practice.label, each.practice.points, None if each.placed in replaced else each.line)
    gained = sum(each.practice.points for each in found)
    if gained > PRACTICE_LIMIT:
        sheet.add(f"good practice adds {PRACTICE_LIMIT} at most", PRACTICE_LIMIT - gained)


def _count_findings(sheet: _Sheet, weighed: Sequence[Weighed]) -> None:
    """Take off what the findings of one confidence cost, a part a rule; then hold the value if one does."""
    before = band_of(sheet.value)
    by_rule: dict[str, list[Weighed]] = {}
    for each in weighed:
        by_rule.setdefault(each.finding.code, []).append(each)
    for group in sorted(by_rule.values(), key=lambda group: -sum(each.cost for each in group)):
        first = group[0]
        places = f", {len(group)} places" if len(group) > 1 else ""
        label = f"{first.title}, {first.finding.confidence.value}{places}"
        sheet.add(label, -_rounded(sum((each.cost for each in group), Fraction())), first.line)
    holder = min(weighed, key=lambda each: (each.hold, each.line), default=None)
    if holder is not None and sheet.value > holder.hold:
        what = f"{holder.finding.confidence.value} {holder.risk.value}-risk finding {holder.finding.code}"
        label = f"held at {holder.hold}: {what} on line {holder.line}"
        sheet.add(label, holder.hold - sheet.value, holder.line)
        sheet.held_by = holder
    changes_band = all(each.finding.confidence in CHANGES_BAND for each in weighed)
    if not changes_band and band_of(sheet.value) is not before:
        sheet.add("what is only possible leaves the band as it is", FLOORS[before] - sheet.value)


def _rounded(points: Fraction) -> int:
    """To the nearest whole number, halves up."""
    return math.floor(points + Fraction(1, 2))


def _first_broken_line(checked: Checked) -> int | None:
    broken = checked.analysis.broken
    return checked.source.position(broken[0].span.start).line if broken else None


def _summary(sheet: _Sheet, weighed: Sequence[Weighed], broken: int | None) -> str:
    return _reason(sheet, weighed) + (f" Line {broken} does not parse." if broken is not None else "")


def _reason(sheet: _Sheet, weighed: Sequence[Weighed]) -> str:
    if sheet.held_by is not None:
        return (
            f"Held {band_of(sheet.held_by.hold).value} by {sheet.held_by.title} on line {sheet.held_by.line}."
        )
    if weighed:
        worst = max(weighed, key=lambda each: (each.cost, -each.line))
        return f"{worst.title} on line {worst.line} costs most."
    return "Nothing was found that keeps the GPU waiting."


@lru_cache(maxsize=1)
def _practices() -> Practices:
    return Practices(PRACTICES)


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Rule]:
    return {rule.code: rule for rule in all_rules()}
