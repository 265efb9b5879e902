"""docs/rules says what the rules say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from warplint.project.catalogue import catalogue

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "docs" / "rules"


@pytest.fixture(scope="module")
def make_rules() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_rules", ROOT / "docs" / "make_rules.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_as_they_would_be_written(make_rules: ModuleType) -> None:
    assert list(make_rules.stale()) == [], "run python docs/make_rules.py"


def test_what_changed_is_written_and_what_is_gone_goes(make_rules: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "WL999.md").write_text("of a rule that was")
    (tmp_path / "WL101.md").write_text("as it was")
    assert {"README.md", "WL101.md", "WL999.md"} <= set(make_rules.stale(tmp_path))
    make_rules.write(tmp_path)
    assert list(make_rules.stale(tmp_path)) == []
    assert not (tmp_path / "WL999.md").exists()


def test_the_table_leads_to_every_rule(make_rules: ModuleType) -> None:
    index = make_rules.pages()["README.md"]
    links = re.findall(r"^\| \[(\w+)\]\((\S+)\) \| `(\S+)` \|", index, re.MULTILINE)
    assert links == [(entry.code, f"{entry.code}.md", entry.name) for entry in sorted(
        catalogue().entries, key=lambda entry: entry.code
    )]  # fmt: skip
    heads = re.findall(r"^\|.*\|$", index, re.MULTILINE)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in heads} == {9}


def test_the_table_says_what_a_rule_is_worth(make_rules: ModuleType) -> None:
    index = make_rules.pages()["README.md"]
    row = next(line for line in index.splitlines() if line.startswith("| [WL102]"))
    assert row.endswith("|  | warning | high | safe, unsafe |  |")
