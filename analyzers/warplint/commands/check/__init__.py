"""``warplint check``: findings in files, and their fixes."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from warplint.commands.check import output
from warplint.commands.check.arguments import NEWEST, add_parser
from warplint.commands.check.choices import STDIN, configs, items_of
from warplint.commands.check.output import EXIT_CLEAN, EXIT_ERROR, say
from warplint.commands.check.progress import with_progress
from warplint.project.batch import Mode, Work, check_files
from warplint.project.config import ConfigError
from warplint.project.files import Target, Unreadable

if TYPE_CHECKING:
    from warplint.commands.check.measuring import Measuring

COUNTED = ("text", "json")
WRITING = frozenset({Mode.FIX, Mode.SILENCE})

__all__ = ["add_parser", "run"]


def run(args: argparse.Namespace) -> int:
    """The exit status, as the epilog of ``arguments`` has it."""
    _tell_capture_from_path(args)
    complaint = _misuse(args)
    if complaint is not None:
        return _refuse(complaint)
    if not args.watch:
        return _once(args)
    from warplint.commands.check.watching import watch  # watchdog costs start-up

    watch(args.paths or [Path()], lambda: _once(args))
    return EXIT_CLEAN


def _once(args: argparse.Namespace) -> int:
    try:
        items = list(items_of(args, configs(args)))
        with _destination(args.output_file) as stream:
            return _act(args, items, stream)
    except ConfigError as error:
        return _refuse(str(error))
    except OSError as error:
        # Opening names the file, and writing none.
        if args.output_file is None or error.filename not in (None, str(args.output_file)):
            raise
        return _refuse(f"{args.output_file} cannot be written: {error.strerror}")


def _act(args: argparse.Namespace, items: list[Target | Unreadable], stream: TextIO) -> int:
    if args.show_files or args.show_settings:
        # Imported here because naming the rules that are on takes all rules.
        from warplint.commands.check import listing

        stream.writelines(listing.files(items) if args.show_files else listing.settings(items))
        return EXIT_CLEAN
    if not items:
        say(f"warning: no Python files under {', '.join(map(str, args.paths)) or 'this folder'}")
    mode = _mode(args)
    work = Work(
        mode,
        args.unsafe_fixes,
        # What is remembered took no time.
        cache=args.cache and mode is Mode.CHECK and not args.statistics and args.with_profile is None,
        timed=args.statistics,
        measuring=_measuring(args, items),
    )
    results = with_progress(items, check_files(items, work, args.jobs))
    if args.statistics:
        return output.print_statistics(results, stream, args)
    if args.write_baseline:
        return output.write_baseline(results, args)
    if args.diff:
        return output.print_diff(results, stream, args)
    if mode in WRITING and STDIN in args.paths:
        return output.print_fixed(results, args)
    return output.print_findings(results, stream, args)


def _tell_capture_from_path(args: argparse.Namespace) -> None:
    """Take what follows ``--with-profile`` for a path to check where it is no capture."""
    given = args.with_profile
    if given is None or given is NEWEST:
        return
    from warplint.commands.check.measuring import is_meant_as_capture

    if not is_meant_as_capture(given):
        args.paths.insert(0, given)
        args.with_profile = NEWEST


def _measuring(args: argparse.Namespace, items: list[Target | Unreadable]) -> Measuring | None:
    """Raises ConfigError without a capture."""
    if args.with_profile is None:
        return None
    from warplint.commands.check import measuring  # Captures take SQLite, and most runs ask for none.

    measuring.forget()
    capture = None if args.with_profile is NEWEST else args.with_profile
    return measuring.measuring(capture, items, args.paths)


def _mode(args: argparse.Namespace) -> Mode:
    if args.add_ignore:
        return Mode.SILENCE
    return Mode.DIFF if args.diff else Mode.FIX if args.fix else Mode.CHECK


def _misuse(args: argparse.Namespace) -> str | None:
    """What is wrong with the options taken together."""
    if args.fix and args.diff:
        return "--fix writes and --diff does not: give one of them"
    if args.add_ignore and (args.fix or args.diff):
        return "--add-ignore silences what --fix and --diff would mend: give one of them"
    if STDIN in args.paths and len(args.paths) > 1:
        return "- is standard input, and stands alone: give it or paths"
    if args.stdin_filename is not None and STDIN not in args.paths:
        return "--stdin-filename names what comes on standard input: give - as the path"
    if STDIN in args.paths and args.output_file and _mode(args) in WRITING:
        return "with - the changed source goes to standard output: --output-file has no place there"
    if args.write_baseline and args.baseline is None:
        return "--write-baseline needs --baseline FILE, the file to write"
    if args.baseline is not None and _mode(args) is not Mode.CHECK:
        return "--baseline is for checking: leave out --fix, --diff and --add-ignore"
    if args.with_profile is not None and (_mode(args) is not Mode.CHECK or args.statistics):
        return "--with-profile is for checking: leave out --fix, --diff, --add-ignore and --statistics"
    if args.statistics and (args.baseline or _mode(args) is not Mode.CHECK or args.format not in COUNTED):
        return "--statistics counts what is found: as text or json, without fixes or a baseline"
    if args.watch and (STDIN in args.paths or args.output_file or args.write_baseline):
        return "--watch checks files time and again: leave out -, --output-file and --write-baseline"
    missing = [str(path) for path in args.paths if path != STDIN and not path.exists()]
    return f"no such file or folder: {', '.join(missing)}" if missing else None


@contextlib.contextmanager
def _destination(file: Path | None) -> Iterator[TextIO]:
    if file is None:
        yield sys.stdout
    else:
        with file.open("w", encoding="utf-8", errors="surrogateescape") as stream:
            yield stream


def _refuse(message: str) -> int:
    say(f"error: {message}")
    return EXIT_ERROR
