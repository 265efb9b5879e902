"""Findings for people: message, place, source frame, and what the fix would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from warplint.project.result import FileResult
from warplint.report.frame import frame
from warplint.report.style import Style
from warplint.report.summary import FAILING
from warplint.static.finding import Applicability, Confidence, Finding, Hotness, Outcome

SUMMARY = True

HOW_OFTEN = {
    Hotness.STEP: "runs every step",
    Hotness.EPOCH: "runs once an epoch or every so many steps",
    Hotness.ONCE: "runs once",
}


def render(results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]:
    """A block of lines for each finding, with an empty line after it."""
    for result in results:
        for finding in result.findings:
            yield "".join(f"{line}\n" for line in _lines(result, finding, style, unsafe_fixes)) + "\n"


def _lines(result: FileResult, finding: Finding, style: Style, unsafe_fixes: bool) -> Iterator[str]:
    offered = finding.fix is Applicability.SAFE or (finding.fix is Applicability.UNSAFE and unsafe_fixes)
    mark = f" [{style.fixable('*')}]" if offered else ""
    level = "" if finding.severity in FAILING else f" ({finding.severity.value})"
    yield f"{style.code(finding.code)} {finding.name}{level}{mark}: {style.strong(finding.message)}"
    yield f" {style.frame('-->')} {result.where(finding.span.start)}"
    yield from frame(*result.excerpt(finding.span), style)
    for related in finding.related:
        yield f"{style.frame('note:')} {result.where(related.span.start)}: {related.message}"
    if finding.measured is not None and finding.measured.outcome is Outcome.UNJUDGED:
        yield f"{style.frame('note:')} {finding.measured.sentence}"
    if doubt := _doubt(finding):
        yield f"{style.frame('note:')} {doubt}"
    if finding.fix is not Applicability.NONE:
        caution = " (unsafe: it may change behaviour)" if finding.fix is Applicability.UNSAFE else ""
        yield f"{style.fixable('help:')} {finding.fix_title}{caution}"


def _doubt(finding: Finding) -> str:
    """How sure the finding is and how often its line runs, where there is something to say."""
    sure = "" if finding.confidence is Confidence.CERTAIN else finding.confidence.value
    return ", ".join(filter(None, [sure, HOW_OFTEN.get(finding.hotness, "")]))
