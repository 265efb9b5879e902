"""``warplint import``: the costs in traces that torch.profiler wrote."""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from warplint import __version__
from warplint.capture.folder import new_capture_folder, prune
from warplint.capture.layout import RunManifest
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.imported.notes import RankFile
from warplint.profile.kineto.trace import TraceError
from warplint.profile.model import Profile
from warplint.profile.store import save
from warplint.project.root import find_root
from warplint.report import costs_terminal
from warplint.report.costs_terminal import Listing

EXIT_IMPORTED, EXIT_ERROR = 0, 2
LINES_SHOWN = 20

EPILOG = """\
examples:
  warplint import trace.json.gz
  warplint import log/worker*.pt.trace.json

The costs become a capture of the project, which `warplint show` and editors open as any other. The trace
stays where it is, and is not needed afterwards.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "import",
        help="show the costs in a trace of torch.profiler",
        description="Read traces that torch.profiler wrote (PyTorch 1.8 and later; NVIDIA and AMD), plain or"
        " gzipped. Several are the ranks of one run.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="trace.json or trace.json.gz")
    parser.add_argument("--name", metavar="NAME", help="name of the capture (default: the file's)")


def run(args: argparse.Namespace) -> int:
    root = find_root(Path())
    try:
        files = by_rank(args.traces)
        with _garbage_left():
            profile = import_traces(files, root)
        folder = _keep(profile, files, root, args.name or _name(files[0].path))
    except TraceError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{error.filename or root}: {error.strerror or error}")
    print(folder)
    console = costs_terminal.console_for(sys.stdout)
    costs_terminal.print_costs(console, Listing(profile, top=LINES_SHOWN))
    return EXIT_IMPORTED


@contextmanager
def _garbage_left() -> Iterator[None]:
    """Reading makes no garbage that is worth looking for, which takes a tenth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _keep(profile: Profile, files: Sequence[RankFile], root: Path, name: str) -> Path:
    """Store the profile as a capture of the project. Raises OSError."""
    now = time.time()
    manifest = RunManifest(profile.command, str(Path.cwd()), str(root), now, __version__, finished=now)
    manifest.imported = {str(file.path.absolute()): file.path.stat().st_size for file in files}
    folder = new_capture_folder(root, name)
    try:
        manifest.write(folder)
        save(folder, profile)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    prune(root)
    return folder


def _name(path: Path) -> str:
    """The file's name without what every trace's name ends in."""
    name = path.name
    for suffix in (".gz", ".json", ".trace", ".pt"):
        name = name.removesuffix(suffix)
    return name or "trace"


def _refuse(message: str) -> int:
    print(f"warplint: error: {message}", file=sys.stderr)
    return EXIT_ERROR
