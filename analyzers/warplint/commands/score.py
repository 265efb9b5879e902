"""``warplint score``: how friendly files are to the GPU, and of what parts that is made."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from warplint.advice.score.file_score import score
from warplint.advice.score.workspace_score import workspace_score
from warplint.commands.check.arguments import NEWEST
from warplint.commands.check.measuring import Measuring, is_meant_as_capture, measuring
from warplint.project.batch import Work, check_item
from warplint.project.config import Config, ConfigError
from warplint.project.document import Document, document, presented
from warplint.project.engine import Engine
from warplint.project.files import Configs, Target, Unreadable, find_files
from warplint.project.result import FileResult, shown
from warplint.report import score_json, score_text
from warplint.report.score_text import Scored
from warplint.report.style import Style
from warplint.report.summary import FAILING
from warplint.source.text import SourceError

EXIT_SCORED, EXIT_UNREAD, EXIT_ERROR = 0, 1, 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "score",
        help="say how friendly files are to the GPU",
        description="Print the GPU-friendliness score of each file with GPU code, from 0 to 100, with the "
        "parts that add up to it, worst first; and at the end that of all together.",
        epilog="exit status: 0 scored or no GPU code, 1 a file could not be read, 2 wrong usage. "
        "docs/score.md says how a score is made.",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders (default: .)")
    parser.add_argument(
        "--with-profile",
        nargs="?",
        type=Path,
        const=NEWEST,
        metavar="CAPTURE",
        help="count what a capture measured: this folder, or each project's newest",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how it is printed (default: text)"
    )


def run(args: argparse.Namespace) -> int:
    paths, capture = list(args.paths), args.with_profile
    if capture is not None and capture is not NEWEST and not is_meant_as_capture(capture):
        paths, capture = [capture, *paths], NEWEST
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        return _refuse(f"no such file or folder: {', '.join(missing)}")
    try:
        items = list(find_files(paths or [Path()], Configs()))
        if not items:
            _say(f"warning: no Python files under {', '.join(map(str, paths)) or 'this folder'}")
        asked = None if capture is None else measuring(None if capture is NEWEST else capture, items, paths)
        for folder, why in asked.without_gpu if asked is not None else ():
            _say(f"nothing in {shown(folder)} counts: {why}")
        unread: list[Target | Unreadable] = []
        files = {each.result.shown_path: each for each in _scored(_read(items, unread), asked)}
    except ConfigError as error:
        return _refuse(str(error))
    together = workspace_score({name: each.score for name, each in files.items()})
    worst_first = sorted(files.values(), key=lambda each: (each.score.value, each.result.shown_path))
    if args.format == "json":
        sys.stdout.write(score_json.render(worst_first, together))
    else:
        sys.stdout.writelines(score_text.render(worst_first, together, Style.of(sys.stdout)))
    return EXIT_UNREAD if any(map(_fails_check, unread)) else EXIT_SCORED


def _read(
    items: Iterable[Target | Unreadable], unread: list[Target | Unreadable]
) -> Iterator[tuple[Target, Document]]:
    """The files, but for those that cannot be read: it is said of each, and ``unread`` gets them."""
    for item in items:
        read = item.reason if isinstance(item, Unreadable) else _document(item.path)
        if isinstance(item, Unreadable) or isinstance(read, str):
            _say(f"{shown(item.path)} has no score: {read}")
            unread.append(item)
        else:
            yield item, read


def _document(path: Path) -> Document | str:
    """A file's text, or why it cannot be read."""
    try:
        return document(path.read_bytes(), path)
    except (OSError, SourceError) as error:
        return str(error)


def _fails_check(unread: Target | Unreadable) -> bool:
    """Whether ``warplint check`` fails for such a file, too: settings may have it pass."""
    return any(finding.severity in FAILING for finding in check_item(unread, Work()).findings)


def _scored(files: Iterable[tuple[Target, Document]], measuring: Measuring | None) -> Iterator[Scored]:
    """The files that have a score. Raises ConfigError."""
    for item, read in files:
        engine = _engine(item.config)
        checked = engine.check(read.code)
        found = score(checked, None if measuring is None else measuring(engine, checked))
        if found is not None:
            yield Scored(presented(read, FileResult(item.path, read.code)), found)
        elif checked.analysis.broken:
            broken = checked.analysis.broken[0]
            where = presented(read, FileResult(item.path, read.code)).where(broken.span.start)
            _say(f"{where} does not parse, and the rest has no GPU code: {broken.message}")


@cache
def _engine(config: Config) -> Engine:
    return Engine(config.root, config, packs=True, once=True)


def _refuse(message: str) -> int:
    _say(f"error: {message}")
    return EXIT_ERROR


def _say(message: str) -> None:
    print(f"warplint: {message}", file=sys.stderr)
