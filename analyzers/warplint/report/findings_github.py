"""Annotations on the changes of a pull request: GitHub's workflow commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from warplint.project.result import FileResult
from warplint.report.style import Style
from warplint.static.finding import Finding, Severity

SUMMARY = False

COMMANDS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
    Severity.HINT: "notice",
}
IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
IN_PROPERTY = IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def render(results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]:
    """A command for each finding. A range over several lines has no columns: GitHub reads none."""
    for result in results:
        for finding in result.findings:
            properties = ",".join(
                f"{name}={str(value).translate(IN_PROPERTY)}"
                for name, value in _properties(result, finding).items()
            )
            place = result.where(finding.span.start)
            message = f"{place}: {finding.code} {finding.message}".translate(IN_MESSAGE)
            yield f"::{COMMANDS[finding.severity]} {properties}::{message}\n"


def _properties(result: FileResult, finding: Finding) -> dict[str, object]:
    properties: dict[str, object] = {
        "title": f"Warplint {finding.code} {finding.name}",
        "file": result.shown_path,
    }
    start, end = result.place(finding.span.start), result.place(finding.span.end)
    if start.cell is not None:
        # A notebook is shown as its cells, and lines of its JSON are no help.
        return properties
    properties |= {"line": start.line, "endLine": end.line}
    if start.line == end.line:
        properties |= {"col": start.column, "endColumn": end.column}
    return properties
