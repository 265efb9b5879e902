"""How friendly a file's code is to the GPU: a number from 0 to 100, and the parts that add up to it.

docs/score.md says to users what is done here; the numbers are in ``weights`` and ``practices``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from warplint.advice.score.findings_weighed import Group, Weighed, groups, refuted, weigh
from warplint.advice.score.gpu_code import works_on_gpu
from warplint.advice.score.practices import PRACTICES, Found, Practices
from warplint.advice.score.weights import CHANGES_BAND, FLOORS, HIGHEST, PRACTICE_LIMIT, START, Band
from warplint.project.engine import Checked
from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Finding
from warplint.static.inference.knowledge import Knowledge
from warplint.static.parsing.chunks import Placed
from warplint.static.structure.index import Index


@dataclass(frozen=True, slots=True)
class Part:
    """One reason for the number. ``line`` counts from 1; None where the whole file is meant."""

    label: str
    points: int
    line: int | None


@dataclass(frozen=True, slots=True)
class Hold:
    """The highest value that a finding allows, what finding that is, and its line, from 1."""

    value: int
    finding: str
    line: int

    @property
    def label(self) -> str:
        return f"held at {self.value}: {self.finding}"


@dataclass(frozen=True, slots=True)
class Score:
    """``value`` from 0 to 100 is the sum of the points of its parts; ``summary`` is one sentence or two.

    ``hold`` is what allows no more, whether it has come to that or not. No text names a line, only the
    ``line`` of a part or a hold does: in a notebook people count lines by cell.
    """

    value: int
    band: Band
    summary: str
    parts: tuple[Part, ...]
    hold: Hold | None = None


def score(checked: Checked, told: Sequence[Finding] | None = None) -> Score | None:
    """The score of a checked text; None for one without GPU code.

    ``told`` are its findings with what a capture says of them, and those that measuring alone made
    (``measured.join``); None where no capture was asked.
    """
    analysis = checked.analysis
    chunks = [*analysis.replaced, *analysis.readable]
    if not chunks:
        return None
    index = Index(chunks)
    facts = Facts(checked.source, Knowledge(index))
    found = checked.findings if told is None else told
    weighed, free = weigh(checked.source, found), refuted(checked.source, found)
    if not weighed and not free and not works_on_gpu(index, facts):
        return None
    sheet = _Sheet()
    sheet.add("where every file with GPU code starts", START)
    _count_practices(sheet, _practices().found(index, facts), set(analysis.replaced))
    for sureness in Confidence:
        _count_findings(sheet, [each for each in weighed if each.sureness is sureness])
    if sheet.value < FLOORS[Band.RED]:
        sheet.add(f"no score is below {FLOORS[Band.RED]}", FLOORS[Band.RED] - sheet.value)
    for each in free:
        sheet.add(f"{each.title}, which costs nothing here as measured", 0, each.line)
    broken = _first_broken_line(checked)
    if broken is not None:
        sheet.add("this does not parse: the rest of the file counts", 0, broken)
    parts = tuple(sheet.parts)
    summary = _reason(sheet) + ("" if broken is None else " Part of the file does not parse.")
    return Score(sheet.value, band_of(sheet.value), summary, parts, _hold(weighed))


def band_of(value: int) -> Band:
    return next(band for band in reversed(Band) if value >= FLOORS[band] or band is Band.RED)


@dataclass(slots=True)
class _Sheet:
    """The parts written so far; the value is never anything but their sum."""

    parts: list[Part] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    held_by: Weighed | None = None

    @property
    def value(self) -> int:
        return sum(part.points for part in self.parts)

    def add(self, label: str, points: int, line: int | None = None) -> None:
        self.parts.append(Part(label, points, line))


def _count_practices(sheet: _Sheet, found: Sequence[Found], replaced: Collection[Placed]) -> None:
    for each in found:
        sheet.add(each.practice.label, each.practice.points, None if each.placed in replaced else each.line)
    gained = sum(each.practice.points for each in found)
    if gained > PRACTICE_LIMIT:
        sheet.add(f"good practice adds {PRACTICE_LIMIT} at most", PRACTICE_LIMIT - gained)


def _count_findings(sheet: _Sheet, weighed: Sequence[Weighed]) -> None:
    """Take off what equally sure findings cost, a part a rule; then hold the value if one does."""
    before = band_of(sheet.value)
    for group in groups(weighed):
        sheet.groups.append(group)
        sheet.add(group.label, -group.points, group.line)
    hold = _hold(weighed)
    if hold is not None and sheet.value > hold.value:
        sheet.add(hold.label, hold.value - sheet.value, hold.line)
        sheet.held_by = _holder(weighed)
    changes_band = all(each.sureness in CHANGES_BAND for each in weighed)
    if not changes_band and band_of(sheet.value) is not before:
        sheet.add("what is only possible leaves the band as it is", FLOORS[before] - sheet.value)


def _holder(weighed: Sequence[Weighed]) -> Weighed | None:
    return min(weighed, key=lambda each: (each.hold, each.line), default=None)


def _hold(weighed: Sequence[Weighed]) -> Hold | None:
    holder = _holder(weighed)
    if holder is None or holder.hold == HIGHEST:
        return None
    what = f"{holder.finding.confidence.value} {holder.risk.value}-risk finding {holder.finding.code}"
    return Hold(holder.hold, what, holder.line)


def _first_broken_line(checked: Checked) -> int | None:
    broken = checked.analysis.broken
    return checked.source.position(broken[0].span.start).line if broken else None


def _reason(sheet: _Sheet) -> str:
    held_by = sheet.held_by
    worst = max(sheet.groups, key=lambda group: (group.points, -group.line), default=None)
    if held_by is not None:
        return f"Held {band_of(held_by.hold).value} by {held_by.title}."
    if worst is not None:
        return f"{worst.title} costs most."
    return "Nothing was found that keeps the GPU waiting."


@lru_cache(maxsize=1)
def _practices() -> Practices:
    return Practices(PRACTICES)
