"""`pytest tests/fuzzing --texts FOLDER --hypothesis-profile long --timeout 0` edits real files for hours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SMALL_CHARACTERS = 20_000
"""What a file may have that is tried out: many edits of small texts find more than few of large ones."""

SUPPRESSED = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "warplint", deadline=None, derandomize=True, max_examples=150, suppress_health_check=SUPPRESSED
)
settings.register_profile("long", deadline=None, max_examples=20_000, suppress_health_check=SUPPRESSED)
settings.load_profile("warplint")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--texts", type=Path, help="a folder of Python files to edit in place of the rules' examples"
    )


@pytest.fixture(scope="session")
def texts(request: pytest.FixtureRequest) -> list[str]:
    """What the edits start from: the examples of all rules, or the files of a folder."""
    folder: Path | None = request.config.getoption("--texts")
    if folder is not None:
        read = (path.read_text("utf-8", "replace") for path in sorted(folder.rglob("*.py")) if path.is_file())
        return [text for text in read if "torch" in text and len(text) < SMALL_CHARACTERS]
    from warplint.static.rules.registry import CLOSE, OPEN, load_rules

    return [
        example.source.replace(OPEN, "").replace(CLOSE, "")
        for rule in load_rules()
        for example in (*rule.fires, *rule.quiet)
    ]
