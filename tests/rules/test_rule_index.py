"""Rules are known from run to run without being imported, and whatever is wrong with that costs only time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warplint.static.rules.registry import find_rules, load_rules
from warplint.static.rules.rule import Rule, Wants
from warplint.static.rules.rule_index import IndexedRule, RuleIndex, imported

DECLARED = ("code", "name", "preview", "severity", "since", "until")
CHECK = """
import sys
from warplint.__main__ import main
main(["check", "--no-cache", sys.argv[1]])
imported = [name for name in sys.modules if name.startswith("warplint_rules.") and "._" not in name]
print([name for name in imported if name.count(".") == 2])
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, empty."""
    folder = tmp_path / "cache"
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(variable, str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of rules."""
    made = tmp_path / "pack"
    made.mkdir()
    (made / "one.py").write_text("", encoding="utf-8")
    return made


def kept(cache: Path) -> Path:
    (file,) = [path for path in cache.rglob("*") if path.is_file()]
    return file


def test_rules_are_known_from_the_second_time_on(cache: Path) -> None:
    assert all(isinstance(rule, Rule) for rule in find_rules())
    known = find_rules()
    assert all(isinstance(rule, IndexedRule) for rule in known)
    rules = load_rules()
    assert [type(imported(rule)) for rule in known] == [type(rule) for rule in rules]
    for indexed, rule in zip(known, rules, strict=True):
        assert [getattr(indexed, name) for name in DECLARED] == [getattr(rule, name) for name in DECLARED]
        assert all(getattr(indexed.wants, name) == getattr(rule.wants, name) for name in Wants.__match_args__)


def test_a_file_imports_the_rules_that_it_nominates(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "setting.py"
    file.write_text("import torch\n\ntorch.backends.cudnn.enabled = False\n", encoding="utf-8")
    find_rules()
    done = subprocess.run(
        [sys.executable, "-c", CHECK, file], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "['warplint_rules.settings.cudnn_disabled']"


@pytest.mark.parametrize("change", ["added", "longer", "older"])
def test_a_changed_file_takes_an_index_out_of_use(cache: Path, folder: Path, change: str) -> None:
    RuleIndex([str(folder)]).write(load_rules())
    assert RuleIndex([str(folder)]).read() is not None
    if change == "added":
        (folder / "two.py").write_text("", encoding="utf-8")
    elif change == "longer":
        (folder / "one.py").write_text("# More.\n", encoding="utf-8")
    else:
        os.utime(folder / "one.py", (1, 1))
    assert RuleIndex([str(folder)]).read() is None


@pytest.mark.parametrize("kept_bytes", [0, 3, 4, 1000])
def test_an_index_that_was_cut_off_counts_for_nothing(cache: Path, folder: Path, kept_bytes: int) -> None:
    RuleIndex([str(folder)]).write(load_rules())
    file = kept(cache)
    file.write_bytes(file.read_bytes()[:kept_bytes])
    assert RuleIndex([str(folder)]).read() is None


def test_without_a_folder_to_write_to_rules_are_imported(cache: Path) -> None:
    cache.write_text("in the way", encoding="utf-8")
    assert [rule.code for rule in find_rules()] == [rule.code for rule in find_rules()]
    assert all(isinstance(rule, Rule) for rule in find_rules())
