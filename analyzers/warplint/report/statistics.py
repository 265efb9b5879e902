"""How often each rule fires, and what deciding that takes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator

from warplint.project.catalogue import entry_of
from warplint.project.result import FileResult
from warplint.source.records import dataclass
from warplint.static.finding import Applicability


@dataclass(slots=True)
class RuleCount:
    """One rule over the files of a run."""

    code: str
    name: str = ""
    findings: int = 0
    fixable: int = 0
    """Findings with a safe fix: what ``--fix`` alone writes."""
    unsafe: int = 0
    """Findings with a fix that ``--unsafe-fixes`` asks for."""
    seconds: float = 0.0


def counted(results: Iterable[FileResult]) -> list[RuleCount]:
    """The rules that found something, the most frequent first, and then those that looked in vain."""
    counts: defaultdict[str, RuleCount] = defaultdict(lambda: RuleCount(""))
    seconds: defaultdict[str, float] = defaultdict(float)
    for result in results:
        for finding in result.findings:
            count = counts[finding.code]
            count.findings += 1
            count.fixable += finding.fix is Applicability.SAFE
            count.unsafe += finding.fix is Applicability.UNSAFE
        for code, spent in result.rule_seconds:
            seconds[code] += spent
    for code in {*counts, *seconds}:
        counts[code].code, counts[code].name = code, entry_of(code).name
        counts[code].seconds = seconds[code]
    return sorted(counts.values(), key=lambda count: (-count.findings, -count.seconds, count.code))


def table(counts: Iterable[RuleCount]) -> Iterator[str]:
    """A line with its end for each rule."""
    yield "findings  fixable  unsafe  time (ms)  rule\n"
    for count in counts:
        figures = f"{count.findings:8}  {count.fixable:7}  {count.unsafe:6}  {count.seconds * 1000:9.1f}"
        yield f"{figures}  {count.code} {count.name}\n"


def as_json(counts: Iterable[RuleCount]) -> str:
    """A list with an object for each rule."""
    rows = [
        {
            "code": count.code,
            "name": count.name,
            "findings": count.findings,
            "fixable": count.fixable,
            "unsafe": count.unsafe,
            "seconds": round(count.seconds, 6),
        }
        for count in counts
    ]
    return json.dumps(rows, indent=1) + "\n"
