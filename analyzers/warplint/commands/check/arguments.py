"""The options of ``warplint check``."""

from __future__ import annotations

import argparse
from pathlib import Path

from warplint.report import formats

DESCRIPTION = "Report what may keep the GPU waiting in Python files and folders, and fix it."
EPILOG = """exit status: 0 no findings, 1 findings (with --fix: that remain; with --diff: fixes to make),
2 wrong usage or configuration, or an error in Warplint itself. Findings of severity info and
hint do not count."""

NEWEST = Path("newest")
"""What ``--with-profile`` is without a folder: this very object, whatever a folder may be called."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "check",
        help="report findings in files and folders, and fix them",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="files and folders, or - (default: .)"
    )
    parser.add_argument(
        "--stdin-filename", type=Path, metavar="PATH", help="what the source on standard input is called"
    )
    parser.add_argument(
        "--force-exclude", action="store_true", help="apply excludes to the named paths too (for pre-commit)"
    )
    parser.add_argument(
        "--respect-gitignore",
        dest="gitignore",
        action=argparse.BooleanOptionalAction,
        help="leave out what git ignores (it is, unless the configuration says otherwise)",
    )
    parser.add_argument(
        "--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C"
    )
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="how many processes work (default: one for each core)"
    )
    parser.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help="check every file, also what an earlier run left unchanged",
    )
    parser.add_argument(
        "--with-profile",
        nargs="?",
        type=Path,
        const=NEWEST,
        metavar="CAPTURE",
        help="join findings with what a capture measured: this folder, or each project's newest",
    )
    _add_fixes(parser.add_argument_group("fixes"))
    _add_rules(parser.add_argument_group("rules"))
    _add_configuration(parser.add_argument_group("configuration"))
    _add_output(parser.add_argument_group("output"))


def _add_fixes(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--fix", action="store_true", help="write safe fixes into the files")
    group.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff, also make fixes that may change behaviour",
    )
    group.add_argument(
        "--add-ignore", action="store_true", help="silence every finding with a comment beside it"
    )
    group.add_argument("--diff", action="store_true", help="print what --fix would change, and write nothing")


def _add_rules(group: argparse._ArgumentGroup) -> None:
    codes = "codes, prefixes or names"
    group.add_argument(
        "--select", type=_rules, metavar="RULES", help=f"only these {codes}, such as WL2,WL101"
    )
    group.add_argument("--extend-select", type=_rules, default=(), metavar="RULES", help=f"these {codes} too")
    group.add_argument("--ignore", type=_rules, default=(), metavar="RULES", help=f"not these {codes}")
    group.add_argument(
        "--extend-ignore", type=_rules, default=(), metavar="RULES", help="the same as --ignore"
    )
    group.add_argument(
        "--baseline", type=Path, metavar="FILE", help="report only what this file does not list"
    )
    group.add_argument(
        "--write-baseline", action="store_true", help="write what is found into the file of --baseline"
    )
    group.add_argument("--preview", action="store_true", help="also rules that are still on trial")


def _add_configuration(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE|KEY=VALUE",
        help="a TOML file in place of the projects' own, or one setting, such as 'exclude=[\"old\"]'",
    )
    group.add_argument("--isolated", action="store_true", help="read no configuration file")
    group.add_argument("--show-files", action="store_true", help="print the files to check, and check none")
    group.add_argument(
        "--show-settings", action="store_true", help="print the settings that apply, and check nothing"
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--format", choices=formats.names(), default="text", help="how findings are printed (default: text)"
    )
    group.add_argument(
        "--statistics",
        action="store_true",
        help="print how often each rule fires and how long it takes, in place of findings",
    )
    group.add_argument(
        "-o", "--output-file", type=Path, metavar="FILE", help="write there in place of standard output"
    )
    group.add_argument("--exit-zero", action="store_true", help="end with 0 also when there are findings")
    group.add_argument(
        "--exit-non-zero-on-fix", action="store_true", help="end with 1 also when every finding was fixed"
    )


def _rules(text: str) -> tuple[str, ...]:
    """A comma-separated list of codes, prefixes and names."""
    words = tuple(part.strip() for part in text.split(",") if part.strip())
    if not words:
        raise argparse.ArgumentTypeError("it names no rule")
    return words


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)
