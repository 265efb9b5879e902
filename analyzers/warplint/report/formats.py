"""Output formats are found by place: ``findings_<format>.py`` in this folder adds ``--format <format>``."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol, cast

from warplint.project.result import FileResult
from warplint.report.style import Style


class FindingsFormat(Protocol):
    """What a format's module holds.

    ``SUMMARY`` says whether a summary may follow on standard output; without it standard output is exactly
    what ``render`` yields.
    """

    SUMMARY: bool

    def render(self, results: Iterable[FileResult], style: Style, unsafe_fixes: bool) -> Iterator[str]: ...


def names(prefix: str = "findings_") -> list[str]:
    """The formats there are, by name."""
    modules = (file.stem for file in Path(__file__).parent.glob("*.py"))
    return sorted(name.removeprefix(prefix) for name in modules if name.startswith(prefix))


def findings_format(name: str) -> FindingsFormat:
    return cast(FindingsFormat, importlib.import_module(f"warplint.report.findings_{name}"))
