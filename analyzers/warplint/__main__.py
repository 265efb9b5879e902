"""The command line: ``warplint VERB …``, one module of ``warplint.commands`` a verb."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import keyword
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from warplint import __version__, commands
from warplint.project.selection import did_you_mean

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
VERSION = "--version"
SHOW_TRACEBACK = "WARPLINT_TRACEBACK"
FULL = frozenset(
    {errno.ENOSPC, errno.EFBIG, errno.EIO, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}
)
"""What writing fails of where a disk is full or gone. Commands name the files that they write themselves."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as all refusals are; the commands' parsers are of this class too."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_ERROR, f"warplint: error: {message.removeprefix('argument ')}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the process's exit status, 2 for usage, configuration and internal errors."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    _print_anything()
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone (`| head`).
        _drop_output()
        return 1
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in FULL:
            _drop_output()
            print(f"warplint: error: standard output cannot be written: {error.strerror}", file=sys.stderr)
            return EXIT_ERROR
        if os.environ.get(SHOW_TRACEBACK):
            import traceback

            traceback.print_exc()
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"warplint: internal error: {reason} (set {SHOW_TRACEBACK}=1 to see where)", file=sys.stderr)
        return EXIT_ERROR


def _run(arguments: list[str]) -> int:
    verbs = _verbs()
    first = arguments[0] if arguments else ""
    parser = _Parser(
        prog="warplint",
        description="The linter that has seen your program run.",
        epilog="`warplint COMMAND --help` explains a command.",
        allow_abbrev=False,
    )
    parser.add_argument(VERSION, action="version", version=f"warplint {__version__}")
    if first and not first.startswith("-") and first not in verbs:
        parser.error(_unknown_verb(first, verbs))
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands", dest="verb")
    # A command pays for its own imports only, and the version for none; help needs them all.
    needed = [first] if first in verbs else [] if first == VERSION else verbs
    for verb in needed:
        _module(verb).add_parser(subparsers)
    namespace = parser.parse_args(arguments)
    if namespace.verb is None:
        parser.print_help()
        return 0
    status: int = _module(namespace.verb).run(namespace)
    sys.stdout.flush()
    return status


def _verbs() -> list[str]:
    """The commands there are, found by place."""
    # pkgutil would list them too, and import what costs more than all of this.
    places = (entry for folder in commands.__path__ for entry in Path(folder).iterdir())
    return sorted(entry.stem.rstrip("_") for entry in places if not entry.name.startswith("_"))


def _module(verb: str) -> ModuleType:
    # Python's own words cannot be modules' names: those have a _ behind them.
    name = f"{verb}_" if keyword.iskeyword(verb) else verb
    return importlib.import_module(f"{commands.__name__}.{name}")


def _unknown_verb(word: str, verbs: Sequence[str]) -> str:
    if Path(word).exists():
        return f"{word!r} is no command; did you mean `warplint check {word}`?"
    return f"{word!r} is no command{did_you_mean(word, verbs)} ({', '.join(verbs)})"


def _drop_output() -> None:
    """What is left in standard output's buffer goes nowhere, and so does not raise at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_anything() -> None:
    """What the terminal's encoding lacks is printed as well as can be; a closed stream (`>&-`) takes all."""
    # Python has None for a closed one, although its types say otherwise; and the next file would be its heir.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            utf8 = stream.encoding.lower().replace("-", "") == "utf8"
            # File names that are not UTF-8 reach Python as surrogates, and go out as the bytes they were.
            stream.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
