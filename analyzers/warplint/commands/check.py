"""``warplint check``: findings in files, and their fixes."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from warplint.project.batch import Mode, Work, check_files
from warplint.project.config import Config, ConfigError
from warplint.project.engine import known_codes, require_known_codes
from warplint.project.files import Configs, find_files
from warplint.project.result import FileResult
from warplint.project.selection import did_you_mean, unknown_selectors
from warplint.report import formats, summary
from warplint.report.style import Style

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR = 0, 1, 2
SHOW_TRACEBACK = "WARPLINT_TRACEBACK"

DESCRIPTION = "Report what may keep the GPU waiting in Python files and folders, and fix it."
EPILOG = """exit status: 0 no findings, 1 findings (with --fix: that remain; with --diff: fixes to make),
2 wrong usage or configuration, or an error in Warplint itself"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "check",
        help="report findings in files and folders, and fix them",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders (default: .)")
    parser.add_argument("--fix", action="store_true", help="write safe fixes into the files")
    parser.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff, also make fixes that may change behaviour",
    )
    parser.add_argument(
        "--diff", action="store_true", help="print what --fix would change, and write nothing"
    )
    parser.add_argument(
        "--format", choices=formats.names(), default="text", help="how findings are printed (default: text)"
    )
    parser.add_argument(
        "--select", type=_codes, metavar="CODES", help="only these codes or prefixes, such as WL2,WL101"
    )
    parser.add_argument(
        "--ignore", type=_codes, default=(), metavar="CODES", help="not these codes or prefixes"
    )
    parser.add_argument("--preview", action="store_true", help="also rules that are still on trial")
    parser.add_argument(
        "--force-exclude", action="store_true", help="apply excludes to the named paths too (for pre-commit)"
    )


def run(args: argparse.Namespace) -> int:
    if args.fix and args.diff:
        return _refuse("--fix writes and --diff does not: give one of them")
    missing = [str(path) for path in args.paths if not path.exists()]
    if missing:
        return _refuse(f"no such file or folder: {', '.join(missing)}")
    configs = Configs(lambda config: _with_choices(config, args))
    try:
        items = list(find_files(args.paths or [Path()], configs, args.force_exclude))
        for config in {item.config for item in items}:
            require_known_codes(config)
    except ConfigError as error:
        return _refuse(str(error))
    if not items:
        print("warplint: warning: no Python files under the given paths", file=sys.stderr)
    mode = Mode.DIFF if args.diff else Mode.FIX if args.fix else Mode.CHECK
    results = check_files(items, Work(mode, args.unsafe_fixes))
    return _print_diff(results, args) if args.diff else _print_findings(results, args)


def _with_choices(config: Config, args: argparse.Namespace) -> Config:
    """The command line over the file, as ruff has it: ``--select`` starts anew, ``--ignore`` adds."""
    if args.select is not None:
        config = dataclasses.replace(config, select=args.select, ignore=())
    return dataclasses.replace(
        config, ignore=(*config.ignore, *args.ignore), preview=config.preview or args.preview
    )


def _codes(text: str) -> tuple[str, ...]:
    """A comma-separated list of codes and prefixes."""
    selectors = tuple(part.strip() for part in text.split(",") if part.strip())
    if not selectors:
        raise argparse.ArgumentTypeError("it names no rule")
    for unknown in unknown_selectors(selectors, known_codes()):
        hint = did_you_mean(unknown, known_codes()) or "; `warplint rule` lists them"
        raise argparse.ArgumentTypeError(f"there is no rule {unknown!r}{hint}")
    return selectors


def _print_findings(results: Iterator[FileResult], args: argparse.Namespace) -> int:
    chosen = formats.findings_format(args.format)
    style, tally = Style.of(sys.stdout), summary.Tally()
    for text in chosen.render(_with_remarks(tally.counting(results)), style, args.unsafe_fixes):
        sys.stdout.write(text)
    stream = sys.stdout if chosen.SUMMARY else sys.stderr
    for line in summary.summary(tally, args.fix, args.unsafe_fixes):
        print(line, file=stream)
    return EXIT_ERROR if tally.errors else EXIT_FINDINGS if tally.findings else EXIT_CLEAN


def _print_diff(results: Iterator[FileResult], args: argparse.Namespace) -> int:
    from warplint.report.fix_diff import unified  # difflib costs start-up

    tally = summary.Tally()
    for result in _with_remarks(tally.counting(results)):
        sys.stdout.writelines(unified(result))
    for line in summary.diff_summary(tally, args.unsafe_fixes):
        print(line, file=sys.stderr)
    return EXIT_ERROR if tally.errors else EXIT_FINDINGS if tally.fixed else EXIT_CLEAN


def _with_remarks(results: Iterable[FileResult]) -> Iterator[FileResult]:
    """Pass results through, and say on standard error what is not a finding."""
    for result in results:
        for notice in result.notices:
            place = result.source.position(notice.span.start)
            _say(f"warning: {result.shown_path}:{place.line}:{place.column}: {notice.message}")
        if result.error is not None:
            _say(f"{result.shown_path}: {result.error}")
        if result.traceback is not None and os.environ.get(SHOW_TRACEBACK):
            print(result.traceback, file=sys.stderr)
        yield result


def _refuse(message: str) -> int:
    _say(f"error: {message}")
    return EXIT_ERROR


def _say(message: str) -> None:
    print(f"warplint: {message}", file=sys.stderr)
