"""Rules of a project's own: the example, and what goes wrong."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest
from command_line import CommandLine

from warplint.project.config import load_config
from warplint.project.engine import Engine
from warplint.source.text import SourceText

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "rule-pack"


@pytest.fixture
def pack(warplint: CommandLine) -> CommandLine:
    shutil.copytree(
        EXAMPLE, warplint.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    return warplint


def test_the_example_finds_what_it_is_about(pack: CommandLine) -> None:
    done = pack("check", "train.py", "--format", "json")
    assert done.returncode == 1, done.stderr
    found = [(finding["code"], finding["line"], finding["severity"]) for finding in json.loads(done.stdout)]
    lines = (EXAMPLE / "train.py").read_text(encoding="utf-8").splitlines()
    place = next(number for number, line in enumerate(lines, 1) if "telemetry.push" in line)
    assert ("TEAM101", place, "error") in found
    assert pack("check", "team_rules").returncode == 0


def test_the_examples_of_the_rule_are_true(pack: CommandLine) -> None:
    tree = ast.parse((EXAMPLE / "team_rules" / "blocking_telemetry.py").read_text(encoding="utf-8"))
    sources = [
        node.args[1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Example"
        if isinstance(node.args[1], ast.Constant)
    ]
    assert len(sources) == 2
    for source in sources:
        assert isinstance(source, str)
        pack.write("case.py", source.replace("«", "").replace("»", ""))
        found = json.loads(pack("check", "case.py", "--select", "TEAM", "--format", "json").stdout)
        assert len(found) == source.count("«")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--select", "TEAM101"], 1),
        (["--select", "blocking-telemetry"], 1),
        (["--select", "WL"], 1),
        (["--select", "WL1,WL2"], 0),
        (["--ignore", "TEAM"], 0),
        (["--config", "severity.TEAM101='hint'"], 0),
        (["--isolated"], 0),
    ],
)
def test_rules_of_packs_are_chosen_like_any_other(
    pack: CommandLine, arguments: list[str], status: int
) -> None:
    done = pack("check", "train.py", *arguments)
    assert done.returncode == status, done.stderr


def test_rules_of_packs_are_explained_and_reported(pack: CommandLine) -> None:
    assert pack("rule", "TEAM101").stdout.startswith("# TEAM101 blocking-telemetry\n")
    assert "TEAM101  blocking-telemetry" in pack("rule").stdout
    log = json.loads(pack("check", "train.py", "--format", "sarif").stdout)
    assert "TEAM101" in [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert "TEAM101 blocking-telemetry" in pack("check", "train.py", "--statistics").stdout


def test_a_changed_pack_is_never_answered_from_the_cache(pack: CommandLine) -> None:
    assert pack("check", "train.py").returncode == 1
    rule = pack.folder / "team_rules" / "blocking_telemetry.py"
    rule.write_text(rule.read_text().replace('"telemetry.push"', '"telemetry.other"'))
    assert pack("check", "train.py").returncode == 0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("team_rules/broken.py", "import nowhere_to_be_found\n", "team_rules.broken cannot be imported"),
        ("team_rules/empty.py", "x = 1\n", "holds 0 rules; a rule file holds exactly one"),
        ("pyproject.toml", "[tool.warplint]\npacks = ['gone_rules']\n", "gone_rules cannot be imported"),
        ("pyproject.toml", "[tool.warplint]\npacks = ['json']\n", "json/decoder.py: holds 0 rules"),
    ],
)
def test_a_pack_that_cannot_be_used_is_said(pack: CommandLine, name: str, text: str, said: str) -> None:
    pack.write(name, text)
    done = pack("check", "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "[tool.warplint] packs: " in done.stderr
    assert "Traceback" not in done.stderr


def test_an_engine_imports_packs_only_when_told_to(pack: CommandLine) -> None:
    (pack.folder / "team_rules" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (pack.folder / "pyproject.toml").write_text(
        "[tool.warplint]\npacks = ['team_rules']\nignore = ['TEAM101', 'WL301']\n"
        "[tool.warplint.severity]\nblocking-telemetry = 'hint'\n"
    )
    engine = Engine(pack.folder, load_config(pack.folder))
    assert engine.config.ignore == ("WL301",)
    source = SourceText("import torch  # warplint: ignore[TEAM101]\n", pack.folder / "x.py")
    assert engine.check(source).notices == ()
