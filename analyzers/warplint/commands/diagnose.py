"""``warplint diagnose``: what the step waits for, how much, and which line."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from warplint.advice.diagnosis.diagnose import diagnose
from warplint.capture.layout import LayoutError
from warplint.profile.model import Profile
from warplint.profile.store import open_profile
from warplint.project.captures import captures
from warplint.project.newest import NewestProfile
from warplint.project.root import find_root
from warplint.report import diagnosis_json, diagnosis_text
from warplint.report.style import Style

EXIT_DIAGNOSED, EXIT_ERROR = 0, 2
PIPED_WIDTH = 100

EPILOG = """\
classes:
  data           the next batch
  sync           the host, which waited for the GPU and so has launched nothing more
  launch         the host, which launches or computes more slowly than the GPU works
  bandwidth      bytes on their way to the GPU, or through its memory
  compute        arithmetic for which the GPU has faster units
  allocator      memory that is taken from the driver or given back
  communication  other GPUs
  contention     work that shares the GPU
  none           nothing that a figure speaks for

exit codes:
  0  a verdict was printed, none among them
  2  there is no such capture, or it cannot be read

examples:
  warplint diagnose
  warplint diagnose .warplint/20260101T120000Z-train --format json
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "diagnose",
        help="say what the step waits for",
        description="Say in a sentence what the step of a captured run waits for, how much, and which line;"
        " then the same for each phase. Of CAPTURE, or else of the project's newest.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("capture", nargs="?", type=Path, metavar="CAPTURE", help="a capture's folder")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how it is printed (default: text)"
    )


def run(args: argparse.Namespace) -> int:
    root = find_root(args.capture or Path())
    try:
        profile = open_profile(args.capture) if args.capture is not None else _newest(root)
    except LayoutError as error:
        return _refuse(str(error))
    if profile is None:
        return _refuse(f"no capture under {root}; make one with `warplint run -- python train.py`")
    diagnosis = diagnose(profile)
    if args.format == "json":
        sys.stdout.write(diagnosis_json.render(diagnosis))
        return EXIT_DIAGNOSED
    width = shutil.get_terminal_size((PIPED_WIDTH, 0)).columns
    for line in diagnosis_text.render(diagnosis, Style.of(sys.stdout), width):
        print(line)
    return EXIT_DIAGNOSED


def _newest(root: Path) -> Profile | None:
    """Of the newest capture that measured something; newer ones are named. Raises LayoutError."""
    newest = NewestProfile(root)
    profile = newest.get()
    if profile is None:
        return None
    unread = [f"warplint: warning: {error}" for error in newest.passed_over]
    latest = next(folder.name for folder in captures(root))
    if latest != profile.name and not unread:
        unread = [f"warplint: no step was captured in {latest}: this is of {profile.name}"]
    for said in unread:
        print(said, file=sys.stderr)
    return profile


def _refuse(message: str) -> int:
    print(f"warplint: error: {message}", file=sys.stderr)
    return EXIT_ERROR
