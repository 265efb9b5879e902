"""docs/check.md and docs/configuration.md, held against the program."""

from __future__ import annotations

import re
from pathlib import Path

from command_line import CommandLine

from warplint.project.config import KEYS, SEVERITIES, Config
from warplint.report import formats

DOCS = Path(__file__).parent.parent.parent / "docs"
CHECK = (DOCS / "check.md").read_text(encoding="utf-8")
CONFIGURATION = (DOCS / "configuration.md").read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of every table's lines, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def first_words(text: str, start: str) -> set[str]:
    """What stands in code in the first cells, less what follows it there."""
    cells = [row[0] for row in rows(text)]
    return {
        word.split()[0] for cell in cells for word in re.findall(r"`([^`]+)`", cell) if word.startswith(start)
    }


def test_every_option_is_documented_and_no_other(warplint: CommandLine) -> None:
    help_text = warplint("check", "--help").stdout.partition("\noptions:\n")[2].partition("exit status")[0]
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", "\n".join(
        line for line in help_text.splitlines() if re.match(r"  -", line)
    )))  # fmt: skip
    assert len(options) > 25
    assert first_words(CHECK, "-") == options - {"-h", "--help"}


def test_every_format_is_documented_and_no_other() -> None:
    table = CHECK.partition("## Formats\n")[2].partition("\n## ")[0]
    assert first_words(table, "") == set(formats.names())


def test_every_key_is_documented_and_no_other() -> None:
    assert first_words(CONFIGURATION, "") == set(KEYS)
    for word in SEVERITIES:
        assert f'`"{word}"`' in CONFIGURATION


def test_documented_defaults_are_true() -> None:
    shown = {"false": False, "true": True, "[]": (), "{}": (), '["WL"]': ("WL",)}
    defaults = Config(Path("/"))
    checked = 0
    for name, _, default, _ in (row for row in rows(CONFIGURATION) if len(row) == 4 and row[0] != "key"):
        if default.strip("`") in shown:
            checked += 1
            assert getattr(defaults, KEYS[name.strip("`")].field) == shown[default.strip("`")], name
    assert checked == len(KEYS) - len(["exclude", "torch-version"])


def test_the_example_of_the_configuration_is_valid(warplint: CommandLine) -> None:
    example = re.search(r"```toml\n(.*?)```", CONFIGURATION, re.DOTALL)
    assert example is not None
    warplint.write("pyproject.toml", example[1])
    warplint.write("x.py", "")
    assert warplint("check").returncode == 0
