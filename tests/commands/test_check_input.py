"""Where ``warplint check`` takes its files and settings from, and where its output goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomllib
from command_line import CommandLine
from samples import CLEAN, SAFE, SAFE_FIXED, UNSAFE

PYPROJECT = "[tool.warplint]\nignore = ['WL101']\n"

# Standard input


def test_standard_input_is_checked_under_the_name_it_is_given(warplint: CommandLine) -> None:
    done = warplint("check", "-", "--format", "concise", stdin=SAFE)
    assert done.returncode == 1
    assert done.stdout.startswith("-:7:17: WL101 ")
    named = warplint("check", "-", "--stdin-filename", "pkg/net.py", "--format", "concise", stdin=SAFE)
    assert named.stdout.startswith("pkg/net.py:7:17: WL101 ")
    assert warplint("check", "-", stdin=CLEAN).returncode == 0


def test_the_name_of_standard_input_decides_on_its_settings(warplint: CommandLine) -> None:
    warplint.write("pkg/pyproject.toml", "[tool.warplint.per-file-ignores]\n'old_*' = ['WL1']\n")
    assert warplint("check", "-", "--stdin-filename", "pkg/net.py", stdin=SAFE).returncode == 1
    assert warplint("check", "-", "--stdin-filename", "pkg/old_net.py", stdin=SAFE).returncode == 0
    warplint.write("pyproject.toml", "[tool.warplint]\nextend-exclude = ['gone']\n")
    excluded = ["check", "-", "--stdin-filename", "gone/net.py"]
    assert warplint(*excluded, stdin=SAFE).returncode == 1
    assert warplint(*excluded, "--force-exclude", stdin=SAFE).returncode == 0


def test_fixing_standard_input_gives_the_source_back(warplint: CommandLine) -> None:
    done = warplint("check", "-", "--fix", stdin=SAFE)
    assert (done.returncode, done.stdout) == (0, SAFE_FIXED)
    assert done.stderr == "Found 1 finding (1 fixed).\n"
    done = warplint("check", "-", "--fix", stdin=UNSAFE)
    assert (done.returncode, done.stdout) == (1, UNSAFE)
    assert "--> -:7:17" in done.stderr
    broken = "import torch\nx = (\n"
    assert warplint("check", "-", "--fix", stdin=broken).stdout == broken
    diff = warplint("check", "-", "--diff", "--stdin-filename", "net.py", stdin=SAFE)
    assert diff.stdout.startswith("--- net.py\n+++ net.py\n")
    assert list(warplint.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-", "net.py"], "- is standard input, and stands alone"),
        (["net.py", "--stdin-filename", "a.py"], "give - as the path"),
        (["-", "--fix", "-o", "out.py"], "--output-file has no place there"),
        (["--config", "a.toml", "--config", "b.toml"], "one file takes the projects' own place"),
        (["--config", "a.toml", "--isolated"], "--isolated reads no configuration file"),
        (["--config", "gone.toml"], "gone.toml cannot be read: No such file"),
        (["--config", "select=WL1"], "is not valid TOML"),
        (["--config", "select=['WL999']"], "select: there is no rule 'WL999'"),
        (["-o", "no/such/folder.txt"], "no/such/folder.txt cannot be written: No such file"),
        (["--jobs", "0"], "'0' is not a number from 1"),
    ],
)
def test_what_does_not_go_together_gives_status_2(
    warplint: CommandLine, arguments: list[str], said: str
) -> None:
    warplint.write("net.py", SAFE)
    for name in ("a.toml", "b.toml"):
        warplint.write(name, "preview = true\n")
    done = warplint("check", *arguments, stdin=SAFE)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr


# Output and status


def test_output_goes_to_a_file(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    done = warplint("check", "-o", "found.txt", env={"FORCE_COLOR": ""})
    assert (done.returncode, done.stdout) == (1, "")
    assert (warplint.folder / "found.txt").read_text() == warplint("check").stdout
    warplint("check", "--output-file", "found.json", "--format", "json")
    assert len(json.loads((warplint.folder / "found.json").read_text())) == 1


def test_the_exit_status_can_be_chosen(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    assert warplint("check", "--exit-zero").returncode == 0
    assert warplint("check", "--diff", "--exit-zero").returncode == 0
    assert warplint("check", "--fix", "--exit-non-zero-on-fix").returncode == 1
    assert warplint("check", "--fix", "--exit-non-zero-on-fix").returncode == 0
    assert warplint("check", "--exit-zero", "--config", "select=1").returncode == 2


def test_errors_and_warnings_make_a_run_fail(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    for severity, status in {"error": 1, "warning": 1, "info": 0, "hint": 0}.items():
        warplint.write(
            "pyproject.toml", f"[tool.warplint.severity]\nhost-tensor-in-hot-code = '{severity}'\n"
        )
        done = warplint("check", "--format", "json")
        assert [finding["severity"] for finding in json.loads(done.stdout)] == [severity]
        assert done.returncode == status
    assert "Found 1 finding." in warplint("check").stdout
    assert "WL101 host-tensor-in-hot-code (hint)" in warplint("check").stdout


def test_colour_is_forced_and_forbidden(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    assert "\033[" in warplint("check", env={"FORCE_COLOR": "1", "NO_COLOR": ""}).stdout
    assert "\033[" not in warplint("check", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


# Settings


def test_rules_may_be_named(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    assert warplint("check", "--ignore", "host-tensor-in-hot-code").returncode == 0
    assert warplint("check", "--select", "host-tensor-in-hot-code").returncode == 1
    warplint.write("pyproject.toml", "[tool.warplint]\nignore = ['host-tensor-in-hot-code']\n")
    assert warplint("check").returncode == 0
    warplint.write("pyproject.toml", "[tool.warplint.per-file-ignores]\n'n*' = ['host-tensor-in-hot-code']\n")
    assert warplint("check").returncode == 0
    done = warplint("check", "--select", "host-tensor-in-hot-cod")
    assert "did you mean 'host-tensor-in-hot-code'?" in done.stderr


def test_selections_can_be_extended(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    warplint.write("pyproject.toml", "[tool.warplint]\nselect = ['WL2']\n")
    assert warplint("check").returncode == 0
    assert warplint("check", "--extend-select", "WL101").returncode == 1
    warplint.write("pyproject.toml", "[tool.warplint]\nselect = ['WL2']\nextend-select = ['WL1']\n")
    assert warplint("check").returncode == 1
    assert warplint("check", "--extend-ignore", "WL1").returncode == 0
    assert warplint("check", "--select", "WL2").returncode == 0
    warplint.write("pyproject.toml", "[tool.warplint]\nignore = ['WL3']\nextend-ignore = ['WL1']\n")
    assert warplint("check").returncode == 0


def test_configuration_files_can_be_left_out_or_replaced(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    warplint.write("pyproject.toml", PYPROJECT)
    assert warplint("check").returncode == 0
    assert warplint("check", "--isolated").returncode == 1
    assert warplint("check", "--config", "ignore=[]").returncode == 1
    assert warplint("check", "--isolated", "--config", "ignore=['WL1']").returncode == 0
    warplint.write("ci.toml", "select = ['WL1']\n")
    assert warplint("check", "--config", "ci.toml").returncode == 1
    assert warplint("check", "--config", "ci.toml", "--config", "select=['WL2']").returncode == 0
    assert warplint("check", "--config", "ci.toml", "--select", "WL2").returncode == 0


def test_a_broken_configuration_does_not_matter_when_isolated(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    warplint.write("pyproject.toml", "[tool.warplint]\nnope = 1\n")
    assert warplint("check").returncode == 2
    assert warplint("check", "--isolated").returncode == 1


def test_files_are_listed_as_they_would_be_checked(warplint: CommandLine) -> None:
    for name in ("b.py", "a/x.py", "old/y.py", "notes.txt"):
        warplint.write(name, SAFE)
    warplint.write("pyproject.toml", "[tool.warplint]\nextend-exclude = ['old']\n")
    done = warplint("check", "--show-files")
    assert (done.returncode, done.stdout) == (0, f"{Path('a', 'x.py')}\nb.py\n")


def test_what_git_ignores_is_left_out(warplint: CommandLine) -> None:
    for name in (".git/HEAD", "a.py", "gen/x.py", "gen/keep.py", "sub/old.py"):
        warplint.write(name, SAFE)
    warplint.write(".gitignore", "gen/*\n!gen/keep.py\n")
    warplint.write("sub/.gitignore", "old.py\n")
    listed = ["a.py", str(Path("gen", "keep.py"))]
    assert warplint("check", "--show-files").stdout.split() == listed
    every = warplint("check", "--show-files", "--no-respect-gitignore").stdout.split()
    assert len(every) == 4
    named = ["check", "--show-files", "sub/old.py"]
    assert warplint(*named).stdout.split() == [str(Path("sub", "old.py"))]
    assert warplint(*named, "--force-exclude").stdout == ""
    warplint.write("pyproject.toml", "[tool.warplint]\nrespect-gitignore = false\n")
    assert warplint("check", "--show-files").stdout.split() == every
    assert warplint("check", "--show-files", "--respect-gitignore").stdout.split() == listed


def test_settings_are_shown_as_the_toml_that_makes_them(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    table = {
        "select": ["WL1"],
        "preview": False,
        "severity": {"WL101": "hint"},
        "per-file-ignores": {"tests/*": ["WL2"], 'a"b': []},
    }
    warplint.write(
        "pyproject.toml",
        "[tool.warplint]\nselect = ['WL1']\nseverity = { WL101 = 'hint' }\n"
        "per-file-ignores = { 'tests/*' = ['WL2'], 'a\"b' = [] }\n",
    )
    done = warplint("check", "--show-settings", "--ignore", "WL201")
    assert done.returncode == 0
    shown = tomllib.loads(done.stdout)["tool"]["warplint"]
    assert shown == {**shown, **table, "ignore": ["WL201"]}
    assert "from pyproject.toml" in done.stdout
    assert "# WL101 host-tensor-in-hot-code\n" in done.stdout and "# WL201" not in done.stdout
    warplint.write("again.toml", done.stdout)
    again = warplint("check", "--show-settings", "--config", "again.toml")
    assert tomllib.loads(again.stdout) == tomllib.loads(done.stdout)


def test_defaults_are_shown_as_toml_too(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    shown = warplint("check", "--show-settings").stdout
    warplint.write("pyproject.toml", shown)
    assert tomllib.loads(warplint("check", "--show-settings").stdout) == tomllib.loads(shown)


def test_each_projects_settings_are_shown(warplint: CommandLine) -> None:
    warplint.write("a/net.py", SAFE)
    warplint.write("b/net.py", SAFE)
    warplint.write("b/pyproject.toml", PYPROJECT)
    done = warplint("check", "--show-settings")
    assert done.stdout.count("[tool.warplint]\n") == 2
    assert "without a configuration file" in done.stdout
    assert f"from {Path('b', 'pyproject.toml')}" in done.stdout
