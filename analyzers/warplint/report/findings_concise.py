"""``path:line:col: CODE message``, a line for each finding and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from warplint.project.result import FileResult
from warplint.report.style import Style

SUMMARY = False


def render(results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]:
    """Line and column count from 1, the column in characters. The format has no colour."""
    for result in results:
        for finding in result.findings:
            message = " ".join(finding.message.split())
            yield f"{result.where(finding.span.start)}: {finding.code} {message}\n"
