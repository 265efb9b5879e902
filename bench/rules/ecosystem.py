"""Check and fix whole public repositories: `python bench/rules/ecosystem.py FOLDER OUT [--against RECORD]`.

FOLDER holds one checkout a repository, named owner__name. Each is copied, checked with every rule, fixed
with unsafe fixes too, and fixed again. OUT gets a line a repository, with the CPU time of the check, and each
rule's sum. What must never be is in a line with "!": an error in Warplint, a fixed file that does not parse,
a second run that changes something more. ``--against`` prints how the sums differ from an earlier OUT.
"""

from __future__ import annotations

import argparse
import ast
import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECK = [sys.executable, "-m", "warplint", "check", "--isolated", "--no-cache", "--no-respect-gitignore"]
EVERYTHING = [*CHECK, "--preview", "--format", "json"]
FIX = [*EVERYTHING, "--fix", "--unsafe-fixes"]
SUFFIXES = {".py", ".pyi", ".ipynb"}
WRONG_USAGE = 2
RULE_SUM = re.compile(r"^(WL\d+) +(\d+)$", re.MULTILINE)


@dataclass
class Outcome:
    """What became of one repository."""

    files: int = 0
    lines: int = 0
    found: collections.Counter[str] = field(default_factory=collections.Counter)
    changed: int = 0
    check_cpu_s: float = 0.0
    """Of the first check, all processes."""
    trouble: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path)
    args = parser.parse_args()
    outcomes = {}
    for repository in sorted(path for path in args.folder.iterdir() if path.is_dir()):
        outcomes[repository.name.replace("__", "/")] = outcome = tried(repository)
        print(line_of(repository.name, outcome), flush=True)
    before = sums_in(args.against.read_text()) if args.against else None
    text = "\n".join(report(outcomes)) + "\n"
    args.out.write_text(text)
    if before is not None:
        print("\n".join(differences(before, sums_in(text))) or "no rule's sum differs")


def tried(repository: Path) -> Outcome:
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / repository.name
        for source in sources(repository):
            target = copy / source.relative_to(repository)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            outcome.files += 1
            outcome.lines += source.read_bytes().count(b"\n")
        if not outcome.files:
            return outcome
        parsable = {path for path in sources(copy) if parses(path)}
        began_s = children_cpu_s()
        outcome.found.update(finding["code"] for finding in run(EVERYTHING, copy, outcome))
        outcome.check_cpu_s = children_cpu_s() - began_s
        before = digests(copy)
        run(FIX, copy, outcome)
        fixed = digests(copy)
        run(FIX, copy, outcome)
        outcome.changed = sum(before[path] != fixed[path] for path in before)
        outcome.trouble += [f"does not parse once fixed: {path}" for path in parsable if not parses(path)]
        again = digests(copy)
        outcome.trouble += [f"changed again: {path}" for path in before if fixed[path] != again[path]]
    return outcome


def children_cpu_s() -> float:
    used = os.times()
    return used.children_user + used.children_system


def sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink():
            yield path


def parses(path: Path) -> bool:
    try:
        json.loads(path.read_bytes()) if path.suffix == ".ipynb" else ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def digests(folder: Path) -> dict[Path, str]:
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sources(folder)}


def run(command: list[str], folder: Path, outcome: Outcome) -> list[dict[str, str]]:
    ran = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    if ran.returncode >= WRONG_USAGE or ran.returncode < 0:
        outcome.trouble.append(f"ended with {ran.returncode}: {ran.stderr.strip()[-300:]}")
    try:
        found: list[dict[str, str]] = json.loads(ran.stdout)
    except ValueError:
        outcome.trouble.append("printed no JSON")
        return []
    return found


def report(outcomes: dict[str, Outcome]) -> Iterator[str]:
    total: collections.Counter[str] = collections.Counter()
    for name, outcome in outcomes.items():
        yield line_of(name, outcome)
        total += outcome.found
    yield ""
    yield (
        f"{len(outcomes)} repositories, {sum(outcome.files for outcome in outcomes.values())} files, "
        f"{sum(outcome.lines for outcome in outcomes.values())} lines; "
        f"{sum(outcome.changed for outcome in outcomes.values())} files changed by fixes; "
        f"{sum(len(outcome.trouble) for outcome in outcomes.values())} troubles"
    )
    yield ""
    yield from (f"{code} {count:6d}" for code, count in sorted(total.items()))


def line_of(name: str, outcome: Outcome) -> str:
    first = (
        f"{name:45s} {outcome.files:6d} files {outcome.lines:9d} lines {outcome.found.total():6d} findings "
        f"{outcome.changed:5d} changed {outcome.check_cpu_s:7.1f} s of CPU"
    )
    return "\n".join([first, *(f"! {trouble}" for trouble in outcome.trouble)])


def sums_in(text: str) -> dict[str, int]:
    return {code: int(count) for code, count in RULE_SUM.findall(text)}


def differences(before: dict[str, int], after: dict[str, int]) -> Iterator[str]:
    for code in sorted(before | after):
        if before.get(code, 0) != after.get(code, 0):
            yield f"{code} {before.get(code, 0):6d} -> {after.get(code, 0):6d}"


if __name__ == "__main__":
    main()
