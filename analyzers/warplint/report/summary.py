"""The lines after the findings: how many, how many mended, how many could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from warplint.project.result import FileResult
from warplint.report.figures import counted, share
from warplint.source.records import dataclass, field
from warplint.static.finding import Applicability, Lost, Outcome, Severity, lost_together

FAILING = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(slots=True)
class Tally:
    """Counts over the files of one run. ``failing`` are the findings for which a run is no success."""

    files: int = 0
    findings: int = 0
    failing: int = 0
    fixed: int = 0
    safe: int = 0
    unsafe: int = 0
    errors: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    """What a capture said of findings, where one was asked."""
    lost: list[Lost] = field(default_factory=list)

    def counting(self, results: Iterable[FileResult]) -> Iterator[FileResult]:
        """Pass results through and count them on the way."""
        for result in results:
            self.files += 1
            self.findings += len(result.findings)
            self.fixed += result.fixed
            self.errors += result.error is not None
            for finding in result.findings:
                self.failing += finding.severity in FAILING
                if finding.measured is not None:
                    self.outcomes[finding.measured.outcome] += 1
                    self.lost += finding.measured.lost or ()
                self.safe += finding.fix is Applicability.SAFE
                self.unsafe += finding.fix is Applicability.UNSAFE
            yield result


def summary(tally: Tally, changing: str, unsafe_fixes: bool) -> Iterator[str]:
    """Lines without ends. ``changing`` says what was done to findings ("fixed"), if anything was.

    ``unsafe_fixes`` says that all kinds of fixes count.
    """
    found = tally.findings + tally.fixed
    if not found:
        yield f"No findings in {counted(tally.files, 'file')}."
        return
    yield f"Found {counted(found, 'finding')}" + (f" ({tally.fixed} {changing})." if changing else ".")
    if tally.outcomes:
        yield f"Measured: {', '.join(_counts(tally.outcomes))}."
        yield from _lost(tally.lost)
    offered = tally.safe + (tally.unsafe if unsafe_fixes else 0)
    if offered and not changing:
        yield f"[*] {offered} fixable with `{'--fix --unsafe-fixes' if unsafe_fixes else '--fix'}`."
    if tally.unsafe and not unsafe_fixes:
        yield f"{counted(tally.unsafe, 'unsafe fix', 'unsafe fixes')} hidden; see them with `--unsafe-fixes`."


SAID = {
    Outcome.CONFIRMED: "confirmed",
    Outcome.REFUTED: "refuted",
    Outcome.UNJUDGED: "not judged",
    Outcome.FOUND: "found by measuring alone",
}


def _counts(outcomes: Counter[Outcome]) -> Iterator[str]:
    return (f"{outcomes[outcome]} {said}" for outcome, said in SAID.items() if outcomes[outcome])


def _lost(lost: Iterable[Lost]) -> Iterator[str]:
    """What the findings cost together, by capture: the time that several speak of counts once."""
    shares = lost_together(lost)
    for capture, part in shares.items():
        where = f" of {capture}" if len(shares) > 1 else ""
        yield f"Together they lose {share(part)} of a step{where}."


def diff_summary(tally: Tally, unsafe_fixes: bool) -> Iterator[str]:
    """The line after a diff."""
    more = 0 if unsafe_fixes else tally.unsafe
    hint = f" ({counted(more, 'more fix', 'more fixes')} with `--unsafe-fixes`)" if more else ""
    yield f"Would fix {counted(tally.fixed, 'finding')}{hint}." if tally.fixed else f"No fixes to make{hint}."
