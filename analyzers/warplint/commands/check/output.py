"""Printing what a run found, and the exit status that follows."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

from warplint.project.result import FileResult
from warplint.report import formats, summary
from warplint.report.figures import counted
from warplint.report.style import Style

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR = 0, 1, 2
SHOW_TRACEBACK = "WARPLINT_TRACEBACK"


def print_findings(results: Iterable[FileResult], stream: TextIO, args: argparse.Namespace) -> int:
    chosen = formats.findings_format(args.format)
    style, tally = Style.of(stream), summary.Tally()
    baseline = None
    if args.baseline is not None:
        from warplint.project.baseline import Baseline

        baseline = Baseline.read(args.baseline)
        results = baseline.unknown(results)
    results = with_remarks(tally.counting(results))
    if args.with_profile is not None and args.format == "text":
        from warplint.commands.check.measuring import by_cost

        results = by_cost(results)
    for text in chosen.render(results, style, args.unsafe_fixes):
        stream.write(text)
    for line in summary.summary(tally, _changing(args), args.unsafe_fixes):
        print(line, file=stream if chosen.SUMMARY else sys.stderr)
    for entry in baseline.stale() if baseline is not None else ():
        say(f"warning: {args.baseline} is stale, --write-baseline renews it: {entry}")
    return _status(tally, tally.failing > 0, args)


def print_statistics(results: Iterable[FileResult], stream: TextIO, args: argparse.Namespace) -> int:
    from warplint.report import statistics

    tally = summary.Tally()
    counts = statistics.counted(with_remarks(tally.counting(results)))
    stream.writelines([statistics.as_json(counts)] if args.format == "json" else statistics.table(counts))
    return _status(tally, tally.failing > 0, args)


def write_baseline(results: Iterable[FileResult], args: argparse.Namespace) -> int:
    """Take what is found into the baseline. Raises BaselineError."""
    from warplint.project.baseline import Baseline

    tally = summary.Tally()
    old = Baseline.read(args.baseline) if args.baseline.exists() else Baseline(args.baseline)
    new = old.replaced(with_remarks(tally.counting(results)))
    new.write()
    print(f"Wrote {counted(new.count, 'finding')} to {args.baseline}.")
    return EXIT_ERROR if tally.errors else EXIT_CLEAN


def print_fixed(results: Iterable[FileResult], args: argparse.Namespace) -> int:
    """The source from standard input with its fixes on standard output, what remains on standard error."""
    results = list(results)
    sys.stdout.flush()
    for result in results:
        if result.bytes is not None:
            sys.stdout.buffer.write(result.bytes)
    return print_findings(results, sys.stderr, args)


def print_diff(results: Iterable[FileResult], stream: TextIO, args: argparse.Namespace) -> int:
    from warplint.report.fix_diff import unified  # difflib costs start-up

    tally = summary.Tally()
    for result in with_remarks(tally.counting(results)):
        stream.writelines(unified(result))
    for line in summary.diff_summary(tally, args.unsafe_fixes):
        print(line, file=sys.stderr)
    return _status(tally, tally.fixed > 0, args)


def with_remarks(results: Iterable[FileResult]) -> Iterator[FileResult]:
    """Pass results through, and say on standard error what is not a finding."""
    for result in results:
        for notice in result.notices:
            say(f"warning: {result.where(notice.span.start)}: {notice.message}")
        if result.error is not None:
            say(f"{result.shown_path}: {result.error}")
        if result.traceback is not None and os.environ.get(SHOW_TRACEBACK):
            print(result.traceback, file=sys.stderr)
        yield result


def say(message: str) -> None:
    print(f"warplint: {message}", file=sys.stderr)


def _changing(args: argparse.Namespace) -> str:
    """What is done to findings, in a word."""
    return "fixed" if args.fix else "silenced" if args.add_ignore else ""


def _status(tally: summary.Tally, found: bool, args: argparse.Namespace) -> int:
    if tally.errors:
        return EXIT_ERROR
    if args.exit_non_zero_on_fix and tally.fixed:
        return EXIT_FINDINGS
    return EXIT_FINDINGS if found and not args.exit_zero else EXIT_CLEAN
