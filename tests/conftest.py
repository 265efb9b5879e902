"""In CI a test that skips is a test that fails: what the suite promises must have been run.

Warplint's own caches of a run of the tests are in a folder of their own, which goes with it.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

IN_CI = os.environ.get("CI") == "true"


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """Leave the user's cache folder alone; what pip keeps there is of use."""
    before = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        if "PIP_CACHE_DIR" not in os.environ:
            patch.setenv("PIP_CACHE_DIR", str(before / "pip"))
        yield
