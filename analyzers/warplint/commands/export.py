"""``warplint export``: a capture for other viewers."""

from __future__ import annotations

import argparse
import gzip
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from warplint.capture.layout import CAPTURES_DIRECTORY, LayoutError, RunManifest
from warplint.profile.imported.recording import Recording, read_recording
from warplint.profile.model import Profile
from warplint.profile.store import open_profile
from warplint.project.captures import captures
from warplint.project.root import find_root
from warplint.report import costs_json, cpuprofile, perfetto, speedscope
from warplint.source.records import dataclass

EXIT_WRITTEN, EXIT_ERROR = 0, 2
PACKED = ".gz"

EPILOG = """\
formats:
  perfetto    the timeline: steps, each thread's lines, layers and operators, each GPU's streams;
              open it at https://ui.perfetto.dev or in chrome://tracing
  speedscope  what lines cost, and each thread's lines over time; open it at https://www.speedscope.app
  cpuprofile  what lines cost; VS Code opens it, and shows the times above the lines of the source
  json        everything `warplint show --format json` prints

examples:
  warplint export --format perfetto -o trace.json.gz
  warplint export .warplint/20260101T120000Z-train --format speedscope > train.speedscope.json
"""


class UnwritableError(Exception):
    """Why the file that was asked for cannot be written."""


@dataclass(frozen=True, slots=True)
class Source:
    """The capture that is exported."""

    folder: Path
    root: Path

    def profile(self) -> Profile:
        """Raises LayoutError."""
        return open_profile(self.folder)

    def recording(self) -> Recording:
        """Raises LayoutError."""
        return read_recording(self.folder)


def _perfetto(source: Source) -> Iterator[str]:
    return perfetto.render(source.recording())


def _speedscope(source: Source) -> Iterator[str]:
    profile, recording = source.profile(), None
    try:
        recording = source.recording()
    except LayoutError as error:
        print(f"warplint: only the costs are exported, no thread: {error}", file=sys.stderr)
    return speedscope.render(profile, recording)


def _cpuprofile(source: Source) -> Iterator[str]:
    return cpuprofile.render(source.profile(), source.root)


def _json(source: Source) -> Iterator[str]:
    profile = source.profile()
    yield costs_json.render(profile, profile.lines)


FORMATS: dict[str, Callable[[Source], Iterator[str]]] = {
    "perfetto": _perfetto,
    "speedscope": _speedscope,
    "cpuprofile": _cpuprofile,
    "json": _json,
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "export",
        help="write a capture for another viewer",
        description="Write a capture as other viewers read it: CAPTURE, or else the project's newest.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("capture", nargs="?", type=Path, metavar="CAPTURE", help="a capture's folder")
    parser.add_argument("--format", choices=FORMATS, required=True, help="what to write")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=f"where to write it (default: standard output); gzipped when it ends in {PACKED}",
    )


def run(args: argparse.Namespace) -> int:
    here = find_root(args.capture or Path())
    folder = args.capture or next(iter(captures(here)), None)
    if folder is None:
        return _refuse(f"no capture under {here}; make one with `warplint run -- python train.py`")
    try:
        pieces = FORMATS[args.format](Source(folder, _root(folder, here)))
        if args.output is None:
            sys.stdout.writelines(pieces)
        else:
            _write(args.output, pieces)
    except (LayoutError, UnwritableError) as error:
        return _refuse(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        return _refuse(f"{error.filename} cannot be read: {error.strerror or error}")
    return EXIT_WRITTEN


def _root(folder: Path, here: Path) -> Path:
    """Where the captured files are: the project's root now, else where it was when the program ran."""
    if folder.absolute().parent == here / CAPTURES_DIRECTORY:
        return here
    return Path(RunManifest.read(folder).root)


def _write(path: Path, pieces: Iterator[str]) -> None:
    """Write under another name and rename, so that a failure leaves no half of a file.

    A device or a pipe is written as it is, and of a link the file that it leads to. Raises UnwritableError.
    """
    target = Path(os.path.realpath(path))
    whole = target.is_file() or not target.exists()
    part = target.with_name(f".{target.name}.{os.getpid()}.part") if whole else target
    try:
        with part.open("wb") as stream:
            _fill(stream, pieces, path.suffix == PACKED)
        if whole:
            part.replace(target)
    except OSError as error:
        # Opening and renaming name the file, and writing none.
        if isinstance(error, BrokenPipeError) or error.filename not in (None, str(part)):
            raise
        raise UnwritableError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if whole:
            with suppress(OSError):
                part.unlink()


def _fill(stream: BinaryIO, pieces: Iterator[str], packed: bool) -> None:
    target = gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0) if packed else stream
    with io.TextIOWrapper(target, encoding="utf-8", write_through=False) as text:
        text.writelines(pieces)


def _refuse(message: str) -> int:
    print(f"warplint: error: {message}", file=sys.stderr)
    return EXIT_ERROR
