"""``warplint config``: what the configuration may hold."""

from __future__ import annotations

import argparse
import json
import sys

from warplint.project.config import KEYS, TABLE

EXIT_ERROR = 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "config",
        help="explain what the configuration may hold",
        description=f"List the keys of [{TABLE}] in pyproject.toml, or explain one.",
        allow_abbrev=False,
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="the key to explain")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of the table instead")


def run(args: argparse.Namespace) -> int:
    if args.schema:
        from warplint.project.schema import schema

        print(json.dumps(schema(), indent=2))
        return 0
    if args.key is None:
        for name, listed in KEYS.items():
            print(f"{name}: {listed.meaning}")
        return 0
    key = KEYS.get(args.key)
    if key is None:
        from warplint.project.selection import did_you_mean

        hint = did_you_mean(args.key, KEYS)
        print(f"warplint: error: there is no key {args.key!r}{hint} ({', '.join(KEYS)})", file=sys.stderr)
        return EXIT_ERROR
    print(f"{args.key}: {key.meaning}\nIt is {key.kind.accepts}.")
    return 0
