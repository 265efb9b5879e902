"""SARIF 2.1.0, the exchange format of static analysis tools; GitHub and Azure read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from warplint import __version__
from warplint.project.catalogue import entry_of
from warplint.project.result import FileResult
from warplint.report.findings_json import as_plain
from warplint.report.fingerprints import fingerprinted
from warplint.report.rule_page import explanation, rule_page
from warplint.report.style import Style
from warplint.source.span import Span
from warplint.static.finding import Finding, Severity

SUMMARY = False

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
    Severity.HINT: "note",
}

Json = dict[str, object]


def render(results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]:
    results = list(results)
    codes = sorted({finding.code for result in results for finding in result.findings})
    run = {
        "tool": {
            "driver": {
                "name": "warplint",
                "version": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(results)],
        "results": [
            _result(result, finding, fingerprint, codes.index(finding.code))
            for result in results
            for finding, fingerprint in fingerprinted(result)
        ],
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str) -> Json:
    entry = entry_of(code)
    return {
        "id": code,
        "name": entry.name,
        "shortDescription": {"text": explanation(entry).partition("\n")[0]},
        "help": {"text": rule_page(entry), "markdown": rule_page(entry)},
        "defaultConfiguration": {"level": LEVELS[entry.severity]},
    }


def _invocation(results: Iterable[FileResult]) -> Json:
    """How the run went: a file that was not checked, or not fixed, is a notification."""
    notifications = [
        {
            "level": "error",
            "message": {"text": result.error},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(result.path)}}],
        }
        for result in results
        if result.error is not None
    ]
    return {"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}


def _result(result: FileResult, finding: Finding, fingerprint: str, index: int) -> Json:
    found: Json = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(result, finding.span)],
        "partialFingerprints": {"warplint/v1": fingerprint},
        "properties": {
            "confidence": finding.confidence.value,
            "hotness": finding.hotness.value,
            **({} if finding.measured is None else {"measured": as_plain(finding.measured)}),
        },
    }
    if finding.related:
        found["relatedLocations"] = [
            {**_location(result, related.span), "message": {"text": related.message}}
            for related in finding.related
        ]
    return found


def _location(result: FileResult, span: Span) -> Json:
    """A place in a file; in a notebook its line counts in the cell, which is named."""
    start, end = result.place(span.start), result.place(span.end)
    location: Json = {
        "physicalLocation": {
            "artifactLocation": _artifact(result.path),
            "region": {
                "startLine": start.line,
                "startColumn": start.column,
                "endLine": end.line,
                "endColumn": end.column,
            },
        }
    }
    if start.cell is not None:
        location["logicalLocations"] = [{"name": f"cell {start.cell}"}]
    return location


def _artifact(path: Path) -> Json:
    """A file by its URI: from the working directory where it is inside, which mostly is the repository."""
    working_directory = Path.cwd()
    if path.is_relative_to(working_directory):
        relative = path.relative_to(working_directory).as_posix()
        return {"uri": _quoted(relative), "uriBaseId": "%SRCROOT%"}
    return {"uri": f"file://{_quoted(path.as_posix())}" if path.is_absolute() else _quoted(str(path))}


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"))
