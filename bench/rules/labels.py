"""How each rule does on the sites that were labelled for it: `python bench/rules/labels.py FOLDER`.

FOLDER holds checkouts named owner__name. A site counts as reported when a finding of the rule covers the
statement, or the header, that holds its line. Sites whose file is not in FOLDER are left out. Labels are one
reader's, made while the rule was written; they show what a rule is for, and that a change keeps it, more than
how it does elsewhere: bench/rules/blind.py is for that.
"""

from __future__ import annotations

import ast
import collections
import csv
import json
import subprocess
import sys
from pathlib import Path

LABELS = Path(__file__).parent / "labels"
VERDICTS = ("TRUE", "MINOR", "FALSE")
FILES_A_RUN = 200
CHECK = [
    sys.executable,
    "-m",
    "warplint",
    "check",
    "--isolated",
    "--no-cache",
    "--preview",
    "--format",
    "json",
]


def main() -> None:
    folder = Path(sys.argv[1])
    sites = [
        (table.stem, folder / row["repo"].replace("/", "__") / row["path"], int(row["line"]), row["verdict"])
        for table in sorted(LABELS.glob("*.tsv"))
        for row in csv.DictReader(table.open(newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)
    ]
    here = [site for site in sites if site[1].is_file()]
    found = findings(sorted({path for _, path, _, _ in here}))
    counted: dict[str, collections.Counter[tuple[str, bool]]] = collections.defaultdict(collections.Counter)
    for code, path, line, verdict in here:
        first, last = statement(path, line)
        reported = any(start <= last and end >= first for start, end in found[code, path.resolve()])
        counted[code][verdict, reported] += 1
    repositories = {path.relative_to(folder).parts[0] for _, path, _, _ in here}
    print(f"{len(here)} of {len(sites)} sites, in {len(repositories)} repositories; reported of labelled\n")
    for code, counts in counted.items():
        cells = (
            (counts[verdict, True], counts[verdict, True] + counts[verdict, False]) for verdict in VERDICTS
        )
        shown = (
            f"{verdict} {part:3d} of {whole:3d}"
            for verdict, (part, whole) in zip(VERDICTS, cells, strict=True)
        )
        print(f"{code}   {'   '.join(shown)}")


def findings(files: list[Path]) -> dict[tuple[str, Path], list[tuple[int, int]]]:
    """First and last lines of what is reported, by rule and file."""
    found: dict[tuple[str, Path], list[tuple[int, int]]] = collections.defaultdict(list)
    for start in range(0, len(files), FILES_A_RUN):
        part = [str(path) for path in files[start : start + FILES_A_RUN]]
        ran = subprocess.run([*CHECK, *part], capture_output=True, text=True, check=False)
        for finding in json.loads(ran.stdout):
            path = Path(finding["path"]).resolve()
            found[finding["code"], path].append((finding["line"], finding["end_line"]))
    return found


def statement(path: Path, line: int) -> tuple[int, int]:
    """First and last line of the innermost simple statement, or header, that holds the line."""
    place = (line, line)
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return place
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = (
                max(node.lineno, body[0].lineno - 1) if isinstance(body, list) and body else node.end_lineno
            )
            if node.lineno <= line <= (last or node.lineno):
                place = (node.lineno, last or node.lineno)
    return place


if __name__ == "__main__":
    main()
