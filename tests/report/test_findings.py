"""What each output format makes of the same findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warplint.project.result import FileResult
from warplint.report import formats
from warplint.report.style import Style
from warplint.report.summary import Tally, diff_summary, summary
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Applicability, Confidence, Finding, Hotness, Related

SOURCE = "import torch\nfor x in y:\n    print(x.item())\n"


def finding(text: str, source: str = SOURCE, **changes: object) -> Finding:
    start = source.index(text)
    values: dict[str, object] = {
        "code": "WL201",
        "name": "host-read",
        "message": "the host waits for the GPU",
        "span": Span(start, start + len(text)),
        **changes,
    }
    return Finding(**values)  # type: ignore[arg-type]


def result(*findings: Finding, path: str = "pkg/train.py") -> FileResult:
    file = Path.cwd() / path
    return FileResult(file, SourceText(SOURCE, file), findings)


def render(name: str, *results: FileResult, unsafe: bool = False) -> str:
    return "".join(formats.findings_format(name).render(results, Style(), unsafe))


def test_the_formats_are_found_by_place() -> None:
    assert {"concise", "json", "text"} <= set(formats.names())


def test_concise_is_a_line_a_finding() -> None:
    results = result(finding("x.item()"), finding("torch", code="WL101")), result(path="clean.py")
    assert render("concise", *results) == (
        "pkg/train.py:3:11: WL201 the host waits for the GPU\n"
        "pkg/train.py:1:8: WL101 the host waits for the GPU\n"
    )


def test_concise_keeps_a_message_on_its_line() -> None:
    assert render("concise", result(finding("torch", message="a\n  b"))).count("\n") == 1


def test_a_file_outside_the_working_directory_has_its_whole_path() -> None:
    outside = FileResult(
        Path("/elsewhere/x.py"), SourceText(SOURCE, Path("/elsewhere/x.py")), (finding("torch"),)
    )
    assert render("concise", outside).startswith("/elsewhere/x.py:1:8: ")


def test_json_is_a_list_of_these_keys() -> None:
    loop = finding("x in y:\n", confidence=Confidence.LIKELY, hotness=Hotness.STEP, fix=Applicability.UNSAFE)
    objects = json.loads(render("json", result(finding("x.item()"), loop)))
    assert objects == [
        {
            "path": "pkg/train.py",
            "line": 3,
            "column": 11,
            "end_line": 3,
            "end_column": 19,
            "code": "WL201",
            "name": "host-read",
            "message": "the host waits for the GPU",
            "severity": "warning",
            "confidence": "certain",
            "hotness": "unknown",
            "fix": "none",
        },
        {
            "path": "pkg/train.py",
            "line": 2,
            "column": 5,
            "end_line": 3,
            "end_column": 1,
            "code": "WL201",
            "name": "host-read",
            "message": "the host waits for the GPU",
            "severity": "warning",
            "confidence": "likely",
            "hotness": "step",
            "fix": "unsafe",
        },
    ]


def test_json_without_findings_is_an_empty_list() -> None:
    assert json.loads(render("json", result())) == []
    assert json.loads(render("json")) == []


def test_text_has_message_place_frame_and_help() -> None:
    found = finding(
        "x.item()",
        confidence=Confidence.LIKELY,
        hotness=Hotness.STEP,
        fix=Applicability.SAFE,
        fix_title="Read it every 50 steps",
        related=(Related(Span(SOURCE.index("for"), SOURCE.index("for") + 3), "the loop"),),
    )
    assert render("text", result(found)) == (
        "WL201 host-read [*]: the host waits for the GPU\n"
        " --> pkg/train.py:3:11\n"
        "  |\n"
        "1 | import torch\n"
        "2 | for x in y:\n"
        "3 |     print(x.item())\n"
        "  |           ^^^^^^^^\n"
        "  |\n"
        "note: pkg/train.py:2:1: the loop\n"
        "note: likely, runs every step\n"
        "help: Read it every 50 steps\n"
        "\n"
    )


def test_an_unsafe_fix_is_marked_only_when_it_would_be_made() -> None:
    found = result(finding("torch", fix=Applicability.UNSAFE, fix_title="Do it"))
    assert render("text", found).startswith("WL201 host-read: the host")
    assert "help: Do it (unsafe: it may change behaviour)\n" in render("text", found)
    assert render("text", found, unsafe=True).startswith("WL201 host-read [*]: the host")


def test_a_finding_in_a_file_that_could_not_be_read() -> None:
    file = Path.cwd() / "x.py"
    unreadable = Finding("WL002", "unreadable-file", "Permission denied", Span(0, 0))
    text = render("text", FileResult(file, SourceText("", file), (unreadable,)))
    assert text == "WL002 unreadable-file: Permission denied\n --> x.py:1:1\n\n"


SAFE, UNSAFE = finding("torch", fix=Applicability.SAFE), finding("torch", fix=Applicability.UNSAFE)


@pytest.mark.parametrize(
    ("findings", "fixed", "fixing", "unsafe", "lines"),
    [
        ((), 0, False, False, ["No findings in 1 file."]),
        ((finding("torch"),), 0, False, False, ["Found 1 finding."]),
        ((SAFE, UNSAFE), 0, False, True, ["Found 2 findings.", "[*] 2 fixable with `--fix --unsafe-fixes`."]),
        (
            (SAFE, UNSAFE, UNSAFE),
            0,
            False,
            False,
            [
                "Found 3 findings.",
                "[*] 1 fixable with `--fix`.",
                "2 unsafe fixes hidden; see them with `--unsafe-fixes`.",
            ],
        ),
        (
            (finding("torch"), UNSAFE),
            3,
            True,
            False,
            ["Found 5 findings (3 fixed).", "1 unsafe fix hidden; see them with `--unsafe-fixes`."],
        ),
        ((), 2, True, True, ["Found 2 findings (2 fixed)."]),
    ],
)
def test_the_summary(
    findings: tuple[Finding, ...], fixed: int, fixing: bool, unsafe: bool, lines: list[str]
) -> None:
    file = Path("x.py")
    tally = Tally()
    list(tally.counting([FileResult(file, SourceText(SOURCE, file), findings, fixed=fixed)]))
    assert list(summary(tally, "fixed" if fixing else "", unsafe)) == lines


def test_the_line_after_a_diff() -> None:
    assert list(diff_summary(Tally(fixed=2, unsafe=1), False)) == [
        "Would fix 2 findings (1 more fix with `--unsafe-fixes`)."
    ]
    assert list(diff_summary(Tally(), True)) == ["No fixes to make."]
