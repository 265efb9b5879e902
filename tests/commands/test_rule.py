"""``warplint rule`` explains rules from their own files."""

from __future__ import annotations

import pytest
from command_line import CommandLine

from warplint.project.measured_codes import MEASURED
from warplint.static.rules.registry import load_rules


def test_every_rule_is_listed_on_a_line(warplint: CommandLine) -> None:
    done = warplint("rule")
    assert done.returncode == 0
    codes = [line.split()[0] for line in done.stdout.splitlines()]
    built_in = ["WL001", "WL002", "WL003", *(entry.code for entry in MEASURED)]
    assert codes == built_in + [rule.code for rule in load_rules()]
    assert all(": " in line for line in done.stdout.splitlines())


@pytest.mark.parametrize("code", [rule.code for rule in load_rules()])
def test_a_rule_is_explained_with_its_examples(warplint: CommandLine, code: str) -> None:
    rule = next(rule for rule in load_rules() if rule.code == code)
    page = warplint("rule", code).stdout
    assert page.startswith(f"# {code} {rule.name}\n\nRisk: {rule.risk.value}.\n")
    for heading in (
        "## Why is this slow?",
        "## When it stays silent",
        "## Fix safety",
        "## Sources",
        "## Examples",
    ):
        assert heading in page
    assert page.count("# <-- reported") >= len(rule.fires)
    assert all(example.why in page for example in (*rule.fires, *rule.quiet))
    assert "«" not in page and "»" not in page


def test_a_rule_is_found_by_name_and_in_small_letters(warplint: CommandLine) -> None:
    page = warplint("rule", "WL101").stdout
    name = page.split()[2]
    assert warplint("rule", name).stdout == page
    assert warplint("rule", "wl101").stdout == page


def test_the_engines_own_codes_are_explained(warplint: CommandLine) -> None:
    assert warplint("rule", "WL001").stdout.startswith("# WL001 unparsable-source\n")


def test_an_unknown_rule_gives_status_2(warplint: CommandLine) -> None:
    done = warplint("rule", "WL999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no rule 'WL999'" in done.stderr
