"""``warplint rule``: what a rule means, from the rule itself."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warplint.project.catalogue import catalogue_of
from warplint.project.config import ConfigError, load_config
from warplint.project.selection import did_you_mean
from warplint.report.rule_page import list_rules, rule_page

EXIT_ERROR = 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "rule",
        help="explain a rule, or list them all",
        description="Explain a rule: what it reports and why, when it stays silent, examples and its fix.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "rule", nargs="?", metavar="RULE", help="a code (WL101) or a name; without one, all are listed"
    )


def run(args: argparse.Namespace) -> int:
    try:
        config = load_config(Path())
        explained = catalogue_of(config).entries
    except ConfigError as error:
        print(f"warplint: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    if args.rule is None:
        sys.stdout.writelines(list_rules(explained))
        return 0
    wanted = next(
        (rule for rule in explained if args.rule.upper() == rule.code or args.rule == rule.name), None
    )
    if wanted is None:
        known = [word for rule in explained for word in (rule.code, rule.name)]
        hint = did_you_mean(args.rule, known) or did_you_mean(args.rule.upper(), known)
        message = f"there is no rule {args.rule!r}{hint or '; `warplint rule` lists them'}"
        print(f"warplint: error: {message}", file=sys.stderr)
        return EXIT_ERROR
    sys.stdout.write(rule_page(wanted))
    return 0
