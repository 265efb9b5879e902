"""GitLab's Code Quality report: a JSON list, an object for each finding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from warplint.project.result import FileResult
from warplint.report.fingerprints import fingerprinted
from warplint.report.style import Style
from warplint.static.finding import Severity

SUMMARY = False

SEVERITIES = {
    Severity.ERROR: "critical",
    Severity.WARNING: "major",
    Severity.INFO: "minor",
    Severity.HINT: "info",
}


def render(results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]:
    issues = []
    for result in results:
        for finding, fingerprint in fingerprinted(result):
            start, end = result.place(finding.span.start), result.place(finding.span.end)
            cell = "" if start.cell is None else f"cell {start.cell}, line {start.line}: "
            issues.append(
                {
                    "description": f"{cell}{finding.code} {finding.name}: {finding.message}",
                    "check_name": finding.code,
                    "fingerprint": fingerprint,
                    "severity": SEVERITIES[finding.severity],
                    "location": {
                        "path": result.shown_path.replace("\\", "/"),
                        "positions": {
                            "begin": {"line": start.line, "column": start.column},
                            "end": {"line": end.line, "column": end.column},
                        },
                    },
                }
            )
    yield json.dumps(issues, indent=1) + "\n"
