"""JUnit's XML, which most build servers show: a suite for each file, a failed case for each finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from warplint.project.result import FileResult
from warplint.report.style import Style

SUMMARY = False

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]:
    """A clean file is a suite with one case that passes: a report without cases counts as broken."""
    results = list(results)
    findings = sum(len(result.findings) for result in results)
    errors = sum(result.error is not None for result in results)
    tests = sum(_cases(result) for result in results)
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f'<testsuites name="warplint" tests="{tests}" failures="{findings}" errors="{errors}">\n'
    for result in results:
        yield from _suite(result)
    yield "</testsuites>\n"


def _suite(result: FileResult) -> Iterator[str]:
    counts = f'tests="{_cases(result)}" failures="{len(result.findings)}"'
    errors = int(result.error is not None)
    yield f'  <testsuite name={_attribute(result.shown_path)} {counts} errors="{errors}" skipped="0">\n'
    for finding in result.findings:
        place = result.place(finding.span.start)
        name = f"{finding.code} {finding.name} ({place})"
        yield f"    {_case(result, name)}>\n"
        yield (
            f"      <failure type={_attribute(finding.code)} message={_attribute(finding.message)}>"
            f"{_text(f'{result.where(finding.span.start)}: {finding.message}')}</failure>\n"
        )
        yield "    </testcase>\n"
    if result.error is not None:
        yield f"    {_case(result, 'error')}>\n"
        yield f"      <error message={_attribute(result.error)}></error>\n    </testcase>\n"
    elif not result.findings:
        yield f"    {_case(result, 'no findings')}/>\n"
    yield "  </testsuite>\n"


def _case(result: FileResult, name: str) -> str:
    """The start of a case's element, without its end."""
    return f"<testcase classname={_attribute(result.shown_path)} name={_attribute(name)}"


def _cases(result: FileResult) -> int:
    return max(1, len(result.findings) + (result.error is not None))


def _attribute(text: str) -> str:
    return quoteattr(NOT_XML.sub("\ufffd", text))


def _text(text: str) -> str:
    return escape(NOT_XML.sub("\ufffd", text))
