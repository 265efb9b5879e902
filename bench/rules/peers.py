"""Warplint beside other linters on the same repositories, at default settings.

    python bench/rules/peers.py FOLDER OUT --torchfix BIN --hotpath BIN --perflint BIN

FOLDER holds repositories, BIN are the peers' programs, each in an environment of its own. Printed are the
findings and the CPU seconds of each; OUT/<name>.tsv gets every finding (path, line, code, message), which
bench/rules/blind.py draws from. The tools run in turn, each on one core, on the files that parse.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

FILES_A_RUN = 200
TEXT_FINDING = re.compile(
    r"^(?P<path>[^:\n]+\.py):(?P<line>\d+):\d+: (?P<code>[A-Z]+\d+):? (?P<message>.*)$", re.M
)


class Found(NamedTuple):
    path: str
    line: int
    code: str
    message: str


class Tool(NamedTuple):
    """``one_path``: the program takes one path a run."""

    name: str
    command: list[str]
    read: Callable[[str], Iterator[Found]]
    one_path: bool = False


def read_text(out: str) -> Iterator[Found]:
    for match in TEXT_FINDING.finditer(out):
        yield Found(match["path"], int(match["line"]), match["code"], match["message"])


def read_warplint(out: str) -> Iterator[Found]:
    for finding in json.loads(out):
        yield Found(finding["path"], finding["line"], finding["code"], finding["message"])


def read_hotpath(out: str) -> Iterator[Found]:
    for file in json.loads(out).get("files", []):
        for finding in file["findings"]:
            message = f"{finding['message']} {finding['recommendation']}"
            yield Found(file["path"], finding["line"], finding["rule_id"], message)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    for peer in ("torchfix", "hotpath", "perflint"):
        parser.add_argument(f"--{peer}", required=True)
    args = parser.parse_args()
    check = [sys.executable, "-m", "warplint", "check", "--no-cache", "--isolated", "--jobs", "1"]
    tools = (
        Tool("warplint", [*check, "--format", "json"], read_warplint),
        Tool("torchfix", [args.torchfix, "--jobs", "1"], read_text),
        Tool("hotpath", [args.hotpath, "analyze", "--format", "json"], read_hotpath, one_path=True),
        Tool("perflint", [args.perflint], read_text),
    )
    files = [path for path in sorted(args.folder.rglob("*.py")) if path.is_file() and parses(path)]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    print(f"{len(files)} files, {lines} lines, {len(list(args.folder.iterdir()))} repositories")
    args.out.mkdir(parents=True, exist_ok=True)
    for tool in tools:
        found, cpu_s = everything(tool, args.folder, files)
        write(args.out / f"{tool.name}.tsv", found)
        print(
            f"{tool.name:10s} {len(found):7d} findings {cpu_s:9.1f} CPU s {lines / cpu_s:9.0f} lines/s",
            flush=True,
        )


def parses(path: Path) -> bool:
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def everything(tool: Tool, folder: Path, files: list[Path]) -> tuple[list[Found], float]:
    parts = (
        [[folder]]
        if tool.one_path
        else [files[i : i + FILES_A_RUN] for i in range(0, len(files), FILES_A_RUN)]
    )
    found: list[Found] = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for part in parts:
        ran = subprocess.run([*tool.command, *map(str, part)], capture_output=True, text=True, check=False)
        if not ran.stdout and ran.returncode not in (0, 1):
            raise SystemExit(f"{tool.name} ended with {ran.returncode}: {ran.stderr[-300:]}")
        found += tool.read(ran.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write(file: Path, found: list[Found]) -> None:
    rows = ("\t".join([row.path, str(row.line), row.code, " ".join(row.message.split())]) for row in found)
    file.write_text("".join(f"{row}\n" for row in ["path\tline\tcode\tmessage", *rows]))


if __name__ == "__main__":
    main()
