"""``warplint show``: what a captured run cost, line by line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.capture.layout import MANIFEST, LayoutError
from warplint.profile.model import Profile
from warplint.profile.store import open_profile
from warplint.project.captures import captures
from warplint.project.config import ConfigError
from warplint.project.root import find_root
from warplint.report import costs_json, costs_terminal, names_terminal
from warplint.report.costs_terminal import Listing, Marker
from warplint.source.text import SourceError, SourceText
from warplint.static.finding import Outcome

if TYPE_CHECKING:
    from warplint.advice.measured.join import Joined

EXIT_SHOWN, EXIT_ERROR = 0, 2

NAMED = (
    ("--layers", "layers", "the model's layers"),
    ("--kernels", "kernel_groups", "the kernels that ran, in groups,"),
    ("--copies", "tiny_copies", "lines that make many copies of few bytes"),
)
"""Options that list a section of the profile: option, section, what it holds."""

DESCRIPTION = """Show the costs of a captured run: one summary line, then the source with what each line cost.
Without --capture it is the newest capture of the project that FILE or the working directory is in."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "show", help="show the costs of a captured run", description=DESCRIPTION, allow_abbrev=False
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="only this source file")
    parser.add_argument("--capture", type=Path, metavar="FOLDER", help="this capture, not the newest")
    parser.add_argument("--top", type=_positive, metavar="N", help="list the N hottest lines instead")
    named = parser.add_mutually_exclusive_group()
    for option, section, what in NAMED:
        named.add_argument(
            option,
            dest="named",
            action="store_const",
            const=section,
            help=f"list {what} instead (--top N of them)",
        )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how costs are printed (default: text)"
    )


def run(args: argparse.Namespace) -> int:
    if args.file is not None and (args.file / MANIFEST).is_file():
        return _refuse(f"{args.file} is a capture: show it with --capture {args.file}")
    root = find_root(args.capture or args.file or Path())
    folder = args.capture or next(iter(captures(root)), None)
    if folder is None:
        return _refuse(f"no capture under {root}; make one with `warplint run -- python train.py`")
    try:
        profile = open_profile(folder)
    except LayoutError as error:
        return _refuse(str(error))
    if args.named is not None:
        (option,) = [option for option, section, _ in NAMED if section == args.named]
        if args.file is not None:
            return _refuse(f"{option} lists what ran in all files: leave out {args.file}")
        if args.format == "json":
            return _refuse(f"--format json has what {option} lists in any case: leave out {option}")
        console = costs_terminal.console_for(sys.stdout)
        names_terminal.print_named(console, profile, args.named, args.top)
        return EXIT_SHOWN
    files: tuple[str, ...] = ()
    if args.file is not None:
        named = _captured_name(profile, args.file, root)
        if named is None:
            return _refuse(_not_captured(profile, args.file))
        files = (named,)
    if args.format == "json":
        sys.stdout.write(costs_json.render(profile, Listing(profile, files, args.top).costs))
        return EXIT_SHOWN
    markers, remarks = findings(profile, files, root)
    listing = Listing(profile, files, args.top, markers, [*remarks, *names_terminal.remarks(profile)])
    costs_terminal.print_costs(costs_terminal.console_for(sys.stdout), listing)
    return EXIT_SHOWN


def _captured_name(profile: Profile, file: Path, root: Path) -> str | None:
    """The file as the capture names it: from the root, else the one captured file that ends the same way."""
    absolute = Path(os.path.normpath(file.absolute()))
    name = absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else absolute.as_posix()
    if name in profile.sources:
        return name
    alike = [each for each in profile.sources if f"/{each}".endswith(f"/{file.as_posix()}")]
    return alike[0] if len(alike) == 1 else None


def _not_captured(profile: Profile, file: Path) -> str:
    files = ", ".join(name for name, _ in costs_terminal.hottest_files(profile)) or "no file"
    return f"{file} ran no line in capture {profile.name}; it has {files}"


def findings(
    profile: Profile, files: tuple[str, ...], root: Path
) -> tuple[dict[str, list[Marker]], list[str]]:
    """What the rules say about the captured texts, by file, and remarks on texts that need one.

    ``files`` are those to look at, as the capture names them; none means all that cost something.
    """
    # `show` on its own needs none of the static side until it has something to say.
    from warplint.advice.measured.join import Captured, join
    from warplint.project.engine import Engine

    try:
        engine = Engine.for_path(root)
    except ConfigError as error:
        return {}, [f"findings are left out: {error}"]
    run = Captured(profile)
    markers: dict[str, list[Marker]] = {}
    remarks: list[str] = []
    hottest = [file for file, _ in costs_terminal.hottest_files(profile)]
    for name in files or hottest:
        if name not in hottest:
            remarks.append(f"{name} ran no line in the captured steps")
        captured = profile.sources.get(name)
        if captured is None:
            continue
        source = SourceText(captured.text, root / name)
        joined = join(engine, engine.check(source), run, engine.costs(source, profile))
        markers[name] = [
            Marker(source.position(each.finding.span.start).line, each.finding.code, _message(each))
            for each in sorted(joined, key=lambda each: each.finding.span.start)
        ]
        if _changed(root / name, captured.digest):
            remarks.append(f"{name} has changed since; shown is the text that ran")
    return markers, remarks


def _message(joined: Joined) -> str:
    """What is said of a finding beside its line's costs: that they confirm it shows in them."""
    measured = joined.told.measured
    confirmed = measured is not None and measured.outcome is Outcome.CONFIRMED
    return joined.finding.message if confirmed else joined.told.message


def _changed(path: Path, digest: str) -> bool:
    try:
        return SourceText.read(path).digest != digest
    except (OSError, SourceError):
        return False


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines from 1")
    return number


def _refuse(message: str) -> int:
    print(f"warplint: error: {message}", file=sys.stderr)
    return EXIT_ERROR
