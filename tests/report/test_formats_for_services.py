"""The formats that other programs read, each as its reader's documentation has it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from sarif_shape import faults
from test_findings import SOURCE, finding, render, result

from warplint.project.result import FileResult
from warplint.source.records import replace
from warplint.source.text import SourceText
from warplint.static.finding import Confidence, Hotness, Related, Severity

LOOP = finding("x in y:\n", code="WL101", name="host-tensor-in-hot-code", severity=Severity.ERROR)
ITEM = finding(
    "x.item()",
    confidence=Confidence.LIKELY,
    hotness=Hotness.STEP,
    related=(Related(finding("y:").span, "made here"),),
)

SERVICES = ("github", "gitlab", "junit", "sarif")


def renamed(found: FileResult, path: Path) -> FileResult:
    return replace(found, path=path)


def broken(path: str = "bad.py") -> FileResult:
    file = Path.cwd() / path
    return FileResult(file, SourceText("", file), error="internal error: RuntimeError: <boom>")


# SARIF


def test_sarif_is_as_the_standard_has_it() -> None:
    log = json.loads(render("sarif", result(LOOP, ITEM), result(path="clean.py"), broken()))
    assert faults(log) == []
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["WL101", "WL201"]
    assert [(found["ruleId"], found["level"]) for found in run["results"]] == [
        ("WL101", "error"),
        ("WL201", "warning"),
    ]
    for found in run["results"]:
        assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"]
    physical = run["results"][1]["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "pkg/train.py", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 3, "startColumn": 11, "endLine": 3, "endColumn": 19}
    assert run["results"][1]["relatedLocations"][0]["message"] == {"text": "made here"}
    assert run["columnKind"] == "unicodeCodePoints"


def test_sarif_without_findings_is_a_successful_run() -> None:
    log = json.loads(render("sarif", result()))
    assert faults(log) == []
    assert log["runs"][0]["results"] == []
    assert log["runs"][0]["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_sarif_says_what_went_wrong() -> None:
    (invocation,) = json.loads(render("sarif", broken()))["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].endswith("<boom>")


def test_sarif_paths_are_uris() -> None:
    spaced = result(ITEM, path="a b/é.py")
    outside = renamed(result(ITEM), Path("/elsewhere/x#1.py"))
    results = json.loads(render("sarif", spaced, outside))["runs"][0]["results"]
    artifacts = [found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for found in results]
    assert artifacts == ["a%20b/%C3%A9.py", "file:///elsewhere/x%231.py"]


# Fingerprints


@pytest.mark.parametrize("name", ["sarif", "gitlab"])
def test_a_fingerprint_outlives_lines_above_and_tells_findings_apart(name: str) -> None:
    text = f"{SOURCE}{SOURCE}"
    file = Path.cwd() / "pkg/train.py"
    first = finding("x.item()", text)
    second = replace(first, span=replace(first.span, start=text.rindex("x.item()"), end=len(text) - 2))
    repeated = FileResult(file, SourceText(text, file), (first, second))
    above = "# new\n"
    moved = FileResult(
        file, SourceText(above + text, file), (finding("x.item()", above + text), replace(second, span=
            replace(second.span, start=second.span.start + 6, end=second.span.end + 6)))
    )  # fmt: skip
    marks = fingerprints(name, repeated)
    assert len(set(marks)) == 2
    assert fingerprints(name, moved) == marks
    assert set(fingerprints(name, result(ITEM, path="other.py"))).isdisjoint(marks)


def fingerprints(name: str, found: FileResult) -> list[str]:
    report = json.loads(render(name, found))
    if name == "gitlab":
        return [issue["fingerprint"] for issue in report]
    return [found["partialFingerprints"]["warplint/v1"] for found in report["runs"][0]["results"]]


# GitLab: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format


def test_gitlab_issues_have_what_gitlab_requires() -> None:
    issues = json.loads(render("gitlab", result(LOOP, ITEM)))
    assert [issue["severity"] for issue in issues] == ["critical", "major"]
    for issue in issues:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= issue.keys()
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["path"] == "pkg/train.py"
    assert issues[1]["location"]["positions"]["begin"] == {"line": 3, "column": 11}
    assert json.loads(render("gitlab", result())) == []


# GitHub: workflow commands


def test_github_commands_carry_file_and_place() -> None:
    first, second = render("github", result(LOOP, ITEM)).splitlines()
    assert second == (
        "::warning title=Warplint WL201 host-read,file=pkg/train.py,line=3,endLine=3,col=11,endColumn=19::"
        "pkg/train.py:3:11: WL201 the host waits for the GPU"
    )
    assert first.startswith("::error ") and ",line=2,endLine=3::" in first


def test_github_commands_are_escaped() -> None:
    odd = result(finding("x.item()", message="50%\nof: it, all", severity=Severity.HINT), path="a,b:c%.py")
    (line,) = render("github", odd).splitlines()
    assert line.startswith("::notice ")
    assert "file=a%2Cb%3Ac%25.py," in line
    assert line.endswith("::a,b:c%25.py:3:11: WL201 50%25%0Aof: it, all")


# JUnit


def test_junit_counts_what_it_holds() -> None:
    report = ET.fromstring(render("junit", result(LOOP, ITEM), result(path="clean.py"), broken()))
    assert report.tag == "testsuites"
    assert report.attrib == {"name": "warplint", "tests": "4", "failures": "2", "errors": "1"}
    first, clean, bad = report.findall("testsuite")
    assert (first.get("name"), first.get("tests"), first.get("failures")) == ("pkg/train.py", "2", "2")
    assert [case.get("name") for case in first] == [
        "WL101 host-tensor-in-hot-code (2:5)",
        "WL201 host-read (3:11)",
    ]
    assert all(case.find("failure") is not None for case in first)
    assert [case.get("name") for case in clean] == ["no findings"]
    assert len(clean[0]) == 0
    error = bad[0].find("error")
    assert error is not None and error.get("message") == "internal error: RuntimeError: <boom>"


def test_junit_is_xml_whatever_stands_in_it() -> None:
    odd = result(finding("x.item()", message='<a href="&">\0\x1b\ud800'), path="<&\udcff>.py")
    text = render("junit", odd)
    failure = ET.fromstring(text).find("testsuite/testcase/failure")
    assert failure is not None and failure.get("message") == '<a href="&">\ufffd\ufffd\ufffd'
    assert not re.search("[\x00-\x08\ud800-\udfff]", text)


@pytest.mark.parametrize("name", SERVICES)
def test_a_report_is_plain_text_without_a_summary(name: str) -> None:
    assert "\033" not in render(name, result(LOOP, ITEM))
