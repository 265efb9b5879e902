"""``warplint run``: run a program unchanged and capture what its lines cost."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from warplint import __version__
from warplint.capture import progress, terminal
from warplint.capture.command import Command, make_command
from warplint.capture.folder import in_use, new_capture_folder, prune
from warplint.capture.launch import NOT_EXECUTABLE, NOT_FOUND, die_as, environment_for
from warplint.capture.launch import run as run_command
from warplint.capture.layout import RAW_SUFFIX, RunManifest
from warplint.capture.settings import DEFAULT_SECONDS, DEFAULT_SHARE, DEFAULT_STEPS, Settings
from warplint.capture.summary import Summary, summarize
from warplint.project.root import find_root

EPILOG = """\
examples:
  warplint run train.py --epochs 1
  warplint run -m package.train --epochs 1
  warplint run -- torchrun --nproc-per-node 2 train.py

The command runs unchanged, with its own output, exit code and signals. What Warplint has to say goes to the
terminal alone.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "run",
        help="run a program and capture what its lines cost",
        usage="warplint run [options] (SCRIPT | -m MODULE | -- COMMAND) ...",
        description="Run a program unchanged, and capture what each of its lines costs the GPU.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--steps",
        type=_positive,
        default=DEFAULT_STEPS,
        metavar="N",
        help=f"steps to capture (default {DEFAULT_STEPS})",
    )
    parser.add_argument(
        "--after",
        type=_natural,
        metavar="N",
        help="begin after step N (default: when the step time has settled)",
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=DEFAULT_SECONDS,
        metavar="S",
        help=f"end after S seconds even so (default {DEFAULT_SECONDS:g})",
    )
    parser.add_argument(
        "--budget",
        type=_share,
        default=DEFAULT_SHARE,
        metavar="PERCENT",
        help="capture again where step times change, as long as all windows take no more of the run "
        f"(default {100 * DEFAULT_SHARE:g}; 0: never)",
    )
    parser.add_argument(
        "--light",
        action="store_true",
        help="record GPU work and lines but no CPU operators, which slows a launch-bound program less; "
        "backward work then stands on the line that starts it",
    )
    parser.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="charge costs to the lines of this installed package too (repeatable)",
    )
    parser.add_argument("--python", metavar="PATH", help="the Python for a command that begins with a script")
    parser.add_argument(
        "--progress",
        type=_absolute,
        metavar="FILE",
        help="append a JSON line to this file at each stage of the run",
    )
    parser.add_argument("--name", metavar="NAME", help="name of the capture (default: the script's)")
    parser.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="MODULE",
        help="a module and its arguments, as Python's -m has them",
    )
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="COMMAND", help="a script, or -- and any command"
    )
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if args.module:
        # A -- among the module's arguments is its own.
        words = ["-m", *args.module, *args.words]
    if not words:
        args.parser.error("a command is missing: warplint run train.py, or warplint run -- COMMAND")
    command = make_command(words, args.python)
    report = Report(args.progress)
    with ExitStack() as held:
        try:
            capture, outcome = _prepare(command, args, held), Summary(False, [])
        except Refused as refusal:
            terminal.say(str(refusal))
            capture, outcome = None, Summary(False, [str(refusal)])
        report.started(capture)
        environment = capture.environment(report.file) if capture else os.environ
        try:
            returncode = run_command(command.argv, environment)
        except OSError as error:
            if capture:
                capture.discard()
            message = f"{command.argv[0]}: {error.strerror or error}"
            print(f"warplint: {message}", file=sys.stderr)
            returncode = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            outcome = Summary(False, [message])
        else:
            if capture:
                outcome = capture.finish(returncode)
        report.finished(returncode, outcome)
    return die_as(returncode)


class Refused(Exception):
    """Why nothing will be captured."""


class Report:
    """What ``--progress`` is told by us; the captured process tells the rest."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        """None when none is wanted, or it cannot be written."""

    def started(self, capture: Capture | None) -> None:
        self._tell("started", folder=str(capture.folder) if capture else None)

    def finished(self, returncode: int, outcome: Summary) -> None:
        self._tell(
            "finished",
            exit=returncode if returncode >= 0 else None,
            signal=-returncode if returncode < 0 else None,
            captured=outcome.captured,
            said=outcome.sentences,
        )

    def _tell(self, state: str, **details: object) -> None:
        if self.file is None:
            return
        try:
            progress.append(self.file, state, **details)
        except OSError as error:
            terminal.say(f"no progress is told in {self.file}: {error.strerror or error}")
            self.file = None


@dataclass(slots=True)
class Capture:
    """The parent's half of a capture: its folder and manifest."""

    folder: Path
    manifest: RunManifest
    settings: Settings

    def environment(self, progress_file: str | None) -> dict[str, str]:
        return environment_for(replace(self.settings, progress=progress_file), os.environ)

    def finish(self, returncode: int) -> Summary:
        self.manifest.finished = time.time()
        self.manifest.exit_code = returncode if returncode >= 0 else None
        self.manifest.signal = -returncode if returncode < 0 else None
        try:
            self.manifest.write(self.folder)
        except OSError as error:
            terminal.say(f"{self.folder}: {error.strerror or error}")
        summary = summarize(self.folder)
        if any(self.folder.glob(f"*{RAW_SUFFIX}")):
            said = [f"  {sentence}" for sentence in summary.sentences]
            hint = ["  see it with: warplint show"] if summary.captured else []
            terminal.say(str(self.folder), *said, *hint)
        else:
            # Kept, it would stand before the last capture that has something to show.
            self.discard()
            terminal.say(*summary.sentences)
        return summary

    def discard(self) -> None:
        """Nothing was captured: nothing is worth keeping."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _prepare(command: Command, args: argparse.Namespace, held: ExitStack) -> Capture:
    """Make the capture's folder. Raises Refused when there can be none."""
    if command.refusal is not None:
        raise Refused(f"nothing will be captured: {command.refusal}")
    root = find_root(Path.cwd())
    manifest = RunManifest(command.argv, str(Path.cwd()), str(root), time.time(), __version__)
    try:
        folder = new_capture_folder(root, args.name or command.name)
        held.enter_context(in_use(folder))
        manifest.write(folder)
    except OSError as error:
        reason = f"{error.filename or root}: {error.strerror or error}"
        raise Refused(f"nothing will be captured: {reason}") from error
    prune(root)
    settings = Settings(
        folder=str(folder),
        root=str(root),
        cwd=str(Path.cwd()),
        steps=args.steps,
        seconds=args.seconds,
        after=args.after,
        share=args.budget,
        light=args.light,
        include=args.include,
    )
    return Capture(folder, manifest, settings)


def _share(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = math.nan
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100")
    return percent / 100


def _absolute(text: str) -> str:
    """The program may change its folder."""
    return str(Path(text).absolute())


def _natural(text: str) -> int:
    return _steps(text, 0)


def _positive(text: str) -> int:
    return _steps(text, 1)


def _steps(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps from {least}")
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
