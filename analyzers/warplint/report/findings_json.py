"""One JSON array, an object for each finding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from warplint.project.result import FileResult
from warplint.report.style import Style
from warplint.static.finding import Finding, Measured

SUMMARY = False


def render(results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]:
    """Lines and columns count from 1, columns in characters; the end is the first column after the range.

    In a notebook there is also the cell, from 1, and lines count in it.
    """
    separator = "[\n "
    for result in results:
        for finding in result.findings:
            yield separator + json.dumps(_as_object(result, finding))
            separator = ",\n "
    yield "[]\n" if separator.startswith("[") else "\n]\n"


def _as_object(result: FileResult, finding: Finding) -> dict[str, object]:
    start = result.place(finding.span.start)
    end = result.place(finding.span.end)
    return {
        "path": result.shown_path,
        **({} if start.cell is None else {"cell": start.cell}),
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "hotness": finding.hotness.value,
        "fix": finding.fix.value,
        **({} if finding.measured is None else {"measured": as_plain(finding.measured)}),
    }


def as_plain(measured: Measured) -> dict[str, object]:
    """A capture's word on a finding, as JSON holds it (docs/measured.md)."""
    return {
        "outcome": measured.outcome.value,
        "sentence": measured.sentence,
        "cost_us": measured.cost_us,
        "share": measured.share,
    }
