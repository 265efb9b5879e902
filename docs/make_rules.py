"""Writes docs/rules: a page for each rule and a table of all, from the rules themselves.

``python docs/make_rules.py`` writes them; with ``--check`` it says which are not as they would be written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from warplint.project.builtin import BuiltIn
from warplint.project.catalogue import catalogue
from warplint.report.rule_page import explanation, rule_page
from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.finding import Applicability
from warplint.static.rules.registry import CLOSE, OPEN
from warplint.static.rules.rule import Rule

PAGES = Path(__file__).parent / "rules"
INDEX = "README.md"
HEAD = """\
# Rules

`docs/make_rules.py` writes these pages from the rules. `warplint rule CODE` prints one.

A rule on trial is reported with `--preview`, or when its code is selected. Risk is how much is lost at worst;
a safe fix can change neither a value nor a device.

| code | name | what is seen | | severity | risk | fix | torch |
|---|---|---|---|---|---|---|---|
"""


def pages() -> dict[str, str]:
    """The text of every page, by file name."""
    entries = sorted(catalogue().entries, key=lambda entry: entry.code)
    index = HEAD + "".join(f"| {' | '.join(_row(entry))} |\n" for entry in entries)
    return {INDEX: index, **{f"{entry.code}.md": rule_page(entry) for entry in entries}}


def _row(entry: BuiltIn | Rule) -> list[str]:
    name, sentence = f"`{entry.name}`", explanation(entry).partition("\n")[0]
    code = f"[{entry.code}]({entry.code}.md)"
    if isinstance(entry, BuiltIn):
        return [code, name, sentence, "", entry.severity.value, "", "", ""]
    trial = "on trial" if entry.preview else ""
    risk, releases = entry.risk.value, _releases(entry)
    return [code, name, _in_a_cell(sentence), trial, entry.severity.value, risk, _fixes(entry), releases]


def _in_a_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _fixes(rule: Rule) -> str:
    """Which fixes the rule's examples have."""
    found = {
        finding.fix
        for example in rule.fires
        for finding in Analyzer([rule], torch=example.torch)
        .analyze(SourceText(example.source.replace(OPEN, "").replace(CLOSE, ""), Path("example.py")))
        .findings
    }
    return ", ".join(fix.value for fix in Applicability if fix in found - {Applicability.NONE})


def _releases(rule: Rule) -> str:
    bounds = ((rule.since, "since {}"), (rule.until, "before {}"))
    return ", ".join(words.format(version) for version, words in bounds if version is not None)


def stale(folder: Path = PAGES) -> Iterator[str]:
    """The names of pages that are missing, out of date, or of a rule that is gone."""
    wanted = pages()
    held = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return (name for name in sorted(wanted.keys() | held.keys()) if wanted.get(name) != held.get(name))


def write(folder: Path = PAGES) -> None:
    folder.mkdir(exist_ok=True)
    wanted = pages()
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/rules from the rules.")
    parser.add_argument("--check", action="store_true", help="write nothing, and name what is out of date")
    if not parser.parse_args().check:
        write()
        return 0
    names = list(stale())
    for name in names:
        print(f"docs/rules/{name} is out of date: run python docs/make_rules.py", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
