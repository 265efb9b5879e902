"""``warplint doctor``: what a capture would get here, what stands in its way, and the remedy."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from warplint.capture.command import find_python
from warplint.commands.doctor.checks import CHECKS, Check, Status, level
from warplint.commands.doctor.facts import Facts, ProbeFailed

EXIT_HEALTHY, EXIT_LESS, EXIT_ERROR = 0, 1, 2

DESCRIPTION = """Look at the Python that would run your program, at its torch, the GPU's driver and the
machine, and say what `warplint run` would capture, what it would not, and what to do about it. Exits with 1
when less would be captured than could be."""

MARKS = {Status.GOOD: "ok", Status.NOTE: "note", Status.LESS: "less"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor", help="say what a capture would get here", description=DESCRIPTION, allow_abbrev=False
    )
    parser.add_argument("--python", metavar="PATH", help="the Python that runs the program")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(args: argparse.Namespace) -> int:
    try:
        facts = Facts.of_python(args.python or find_python())
    except ProbeFailed as error:
        print(f"warplint: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    found = [check(facts) for check in CHECKS]
    checks = [each for each in found if each is not None]
    write = _write_json if args.format == "json" else _write_text
    write(facts, checks)
    return EXIT_LESS if any(each.status is Status.LESS for each in checks) else EXIT_HEALTHY


def _write_text(facts: Facts, checks: list[Check]) -> None:
    width = max(len(each.name) for each in checks)
    for each in checks:
        print(f"{MARKS[each.status]:<5}{each.name:<{width}}  {each.found}")
        for text in filter(None, (each.meaning, each.remedy)):
            print(f"{'':<5}{'':<{width}}  {text}")
    print(f"\n`warplint run` would capture {level(facts)}.")


def _write_json(facts: Facts, checks: list[Check]) -> None:
    document = {
        "python": facts.executable,
        "level": level(facts),
        "checks": [{**asdict(each), "status": MARKS[each.status]} for each in checks],
    }
    print(json.dumps(document, indent=1))
