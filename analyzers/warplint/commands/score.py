"""``warplint score``: how friendly files are to the GPU, and of what parts that is made."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from warplint.advice.score import score
from warplint.advice.workspace_score import workspace_score
from warplint.commands.check.arguments import NEWEST
from warplint.commands.check.measuring import Measuring, is_capture, measuring
from warplint.project.config import Config, ConfigError
from warplint.project.document import document, presented
from warplint.project.engine import Engine
from warplint.project.files import Configs, Target, Unreadable, find_files
from warplint.project.result import FileResult
from warplint.report import score_json, score_text
from warplint.report.score_text import Scored
from warplint.report.style import Style
from warplint.source.text import SourceError

EXIT_SCORED, EXIT_ERROR = 0, 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "score",
        help="say how friendly files are to the GPU",
        description="Print the GPU-friendliness score of each file with GPU code, from 0 to 100, with the "
        "parts that add up to it, worst first; and at the end that of all together.",
        epilog="docs/score.md says how a score is made.",
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
    if capture is not None and capture is not NEWEST and not is_capture(capture):
        paths, capture = [capture, *paths], NEWEST
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        return _refuse(f"no such file or folder: {', '.join(missing)}")
    try:
        items = list(find_files(paths or [Path()], Configs()))
        asked = None if capture is None else measuring(None if capture is NEWEST else capture, items)
        files = {each.result.shown_path: each for each in _scored(items, asked)}
    except ConfigError as error:
        return _refuse(str(error))
    together = workspace_score({name: each.score for name, each in files.items()})
    worst_first = sorted(files.values(), key=lambda each: (each.score.value, each.result.shown_path))
    if args.format == "json":
        sys.stdout.write(score_json.render(worst_first, together))
    else:
        sys.stdout.writelines(score_text.render(worst_first, together, Style.of(sys.stdout)))
    return EXIT_SCORED


def _scored(items: Iterable[Target | Unreadable], measuring: Measuring | None) -> Iterator[Scored]:
    """The files that have a score. Raises ConfigError."""
    for item in items:
        if isinstance(item, Unreadable):
            print(f"warplint: {item.path}: {item.reason}", file=sys.stderr)
            continue
        try:
            read = document(item.path.read_bytes(), item.path)
        except (OSError, SourceError) as error:
            print(f"warplint: {item.path}: {error}", file=sys.stderr)
            continue
        engine = _engine(item.config)
        checked = engine.check(read.code)
        found = score(checked, None if measuring is None else measuring(engine, checked))
        if found is not None:
            yield Scored(presented(read, FileResult(item.path, read.code)), found)


@cache
def _engine(config: Config) -> Engine:
    return Engine(config.root, config, packs=True, once=True)


def _refuse(message: str) -> int:
    print(f"warplint: error: {message}", file=sys.stderr)
    return EXIT_ERROR
